//! Whole runs on the pure scheduler with a virtual clock: workers that die, hang, get preempted, lose their
//! connection, come back and report late, while a judge that knows only the geometry watches every grant.
//!
//! `DAISY_SIM_SEEDS=100000 cargo test -p daisy-core --test simulator` runs more; `DAISY_SIM_SEED=17` one.
#![allow(missing_docs, clippy::unwrap_used)]

mod faults;
mod judge;
mod scenario;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};

use faults::Faults;
use scenario::Scenario;
use world::World;

/// Runs one scenario to its end; the panic of whatever was wrong, if anything was.
fn play(scenario: &Scenario) -> Result<World, String> {
    catch_unwind(AssertUnwindSafe(|| {
        let mut world = World::new(scenario);
        world.run();
        world
    }))
    .map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
    })
}

/// The smallest scenario found near a failing one that fails too.
fn shrink(mut failing: Scenario) -> Scenario {
    for _ in 0..40 {
        let Some(smaller) = failing.smaller().into_iter().find(|each| play(each).is_err()) else {
            return failing;
        };
        failing = smaller;
    }
    failing
}

fn check(scenario: Scenario) {
    if let Err(problem) = play(&scenario) {
        let shrunk = shrink(scenario.clone());
        let history = world::record(|| {
            drop(play(&shrunk));
        });
        let tail = history.len().saturating_sub(400);
        panic!(
            "seed {} fails: {problem}\nsmallest scenario: {shrunk:?}\nhistory ({} steps, last ones):\n{}",
            scenario.seed,
            history.len(),
            history[tail..].join("\n")
        );
    }
}

fn seeds(most: u64) -> std::ops::Range<u64> {
    if let Some(one) = std::env::var("DAISY_SIM_SEED").ok().and_then(|text| text.parse().ok()) {
        return one..one + 1;
    }
    let count = std::env::var("DAISY_SIM_SEEDS").ok().and_then(|text| text.parse().ok());
    0..count.unwrap_or(most)
}

#[test]
fn small_runs_survive_everything() {
    for seed in seeds(10_000) {
        check(Scenario::random(seed, 1_000, 50, Faults::random(seed)));
    }
}

#[test]
fn large_runs_survive_everything() {
    for seed in seeds(20).take(20) {
        check(Scenario::large(seed, 100_000, 2_000));
    }
}

/// What becomes of each block depends on the blocks, not on who was quick.
#[test]
fn results_do_not_depend_on_timing() {
    for seed in seeds(300).take(300) {
        let scenario = Scenario::random(seed, 300, 8, Faults::none().with_bad_blocks(0.1));
        let scenario = Scenario { impatient: false, ..scenario };
        let Ok(first) = play(&scenario) else { panic!("seed {seed} fails") };
        for timing in 1..4 {
            let Ok(other) = play(&Scenario { timing, ..scenario.clone() }) else {
                panic!("seed {seed} fails")
            };
            assert_eq!(first.judge.ends(), other.judge.ends(), "seed {seed}, timing {timing}");
        }
    }
}
