//! How many blocks a second the scheduler alone hands out and takes back, and what it keeps in memory.
//!
//! `cargo run --release -p daisy-core --example scheduler_rate`: JSON lines on standard output.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use daisy_core::geometry::Roi;
use daisy_core::ids::{BlockRef, TaskId};
use daisy_core::plan::{Edge, Fit, Pipeline, TaskOptions, TaskPlan};
use daisy_core::scheduler::{Action, Event, ManualScheduler, Outcome, Scheduler, Settings, WorkerExit};

fn task(name: &str, cells: i64, halo: i64) -> TaskPlan {
    let options = TaskOptions { max_workers: 1, ..TaskOptions::default() };
    let cube = |begin: i64, size: i64| Roi::new(&[begin; 3], &[size; 3]).unwrap();
    TaskPlan::new(
        name,
        cube(0, cells * 10 + 2 * halo),
        cube(-halo, 10 + 2 * halo),
        cube(0, 10),
        Fit::Valid,
        options,
    )
    .unwrap()
}

fn chain(length: u32, cells: i64, halo: i64) -> Arc<Pipeline> {
    let tasks = (0..length).map(|number| task(&format!("t{number}"), cells, halo)).collect();
    let edges: Vec<Edge> =
        (1..length).map(|down| Edge { upstream: TaskId(down - 1), downstream: TaskId(down) }).collect();
    Arc::new(Pipeline::new(tasks, &edges).unwrap())
}

/// Acquires and releases by hand, downstream tasks first.
fn by_hand(pipeline: &Arc<Pipeline>, most: u64) -> u64 {
    let mut scheduler = ManualScheduler::new(Arc::clone(pipeline), Vec::new());
    let mut done = 0;
    while done < most {
        let next = pipeline.order().iter().rev().find_map(|task| Some((*task, scheduler.acquire(*task)?)));
        let Some((task, index)) = next else { break };
        scheduler.release(BlockRef { task, index }, true).unwrap();
        done += 1;
    }
    done
}

/// The events of one worker per task.
fn by_events(pipeline: &Arc<Pipeline>, most: u64) -> u64 {
    let mut scheduler = Scheduler::new(Arc::clone(pipeline), Settings::default(), Vec::new()).unwrap();
    let (mut actions, mut next, mut done) = (Vec::new(), Vec::new(), 0);
    let now = Duration::ZERO;
    scheduler.start(now, &mut actions);
    while !actions.is_empty() && done < most {
        for action in actions.drain(..) {
            let event = match action {
                Action::Launch { worker, task } => {
                    Event::WorkerConnected { worker, task, capacity: 1024, external: false }
                }
                Action::Grant { worker, block, attempt } => {
                    done += 1;
                    let (outcome, duration) = (Outcome::Succeeded, Duration::from_micros(1));
                    Event::Reported { worker, block, attempt, outcome, duration }
                }
                Action::Dismiss { worker } => Event::WorkerExited {
                    worker,
                    exit: WorkerExit { clean: true, outside: false, cause: "".into(), log_tail: "".into() },
                },
                _ => continue,
            };
            scheduler.handle(event, now, &mut next);
        }
        std::mem::swap(&mut actions, &mut next);
    }
    done
}

fn resident_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: f64 = status.split(' ').nth(1).and_then(|text| text.parse().ok()).unwrap_or(f64::NAN);
    pages * 4096.0 / (1 << 20) as f64
}

fn measure(case: &str, pipeline: &Arc<Pipeline>, most: u64, run: fn(&Arc<Pipeline>, u64) -> u64) {
    let before = resident_mib();
    let begin = Instant::now();
    let done = run(pipeline, most);
    let seconds = begin.elapsed().as_secs_f64();
    println!(
        "{{\"case\": \"{case}\", \"blocks\": {done}, \"seconds\": {seconds:.4}, \"blocks_per_second\": {:.0}, \"resident_growth_mib\": {:.1}}}",
        done as f64 / seconds,
        resident_mib() - before,
    );
}

fn main() {
    for (name, run) in [("by_hand", by_hand as fn(&Arc<Pipeline>, u64) -> u64), ("by_events", by_events)] {
        for (what, halo) in [("free", 0), ("conflicts", 2)] {
            measure(&format!("{name}, 3-D, {what}, 1e6"), &chain(1, 100, halo), u64::MAX, run);
            measure(&format!("{name}, 3-D, {what}, 1e7 of 1e8"), &chain(1, 464, halo), 10_000_000, run);
        }
        measure(&format!("{name}, 3-D, conflicts, 5e6 of 1e9"), &chain(1, 1000, 2), 5_000_000, run);
        measure(&format!("{name}, chain of three 1e5, halos"), &chain(3, 46, 2), u64::MAX, run);
        measure(&format!("{name}, chain of three 1e6, halos"), &chain(3, 100, 2), u64::MAX, run);
    }
}
