//! How many blocks a second the scheduler alone hands out and takes back.
//!
//! `cargo run --release -p daisy-core --example scheduler_rate`
#![allow(missing_docs, clippy::unwrap_used)]

use daisy_core::geometry::Roi;
use daisy_core::ids::*;
use daisy_core::plan::*;
use daisy_core::scheduler::*;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn task(name: &str, n: i64, halo: i64, conflict: bool) -> TaskPlan {
    TaskPlan::new(
        name,
        Roi::new(&[0, 0, 0], &[n * 10 + 2 * halo; 3]).unwrap(),
        Roi::new(&[-halo; 3], &[10 + 2 * halo; 3]).unwrap(),
        Roi::new(&[0; 3], &[10; 3]).unwrap(),
        Fit::Valid,
        TaskOptions { read_write_conflict: conflict, max_workers: 1, ..Default::default() },
    )
    .unwrap()
}

fn drive(tasks: Vec<TaskPlan>, edges: &[Edge], limit: u64) {
    let t0 = Instant::now();
    let mut s =
        Scheduler::new(Arc::new(Pipeline::new(tasks, edges).unwrap()), Settings::default(), vec![]).unwrap();
    let mut actions = Vec::new();
    let mut next = Vec::new();
    let mut done = 0u64;
    let now = Duration::ZERO;
    s.start(now, &mut actions);
    println!("start {:?}", t0.elapsed());
    'all: loop {
        if actions.is_empty() {
            break;
        }
        for a in actions.drain(..) {
            match a {
                Action::Launch { worker, task } => s.handle(
                    Event::WorkerConnected { worker, task, capacity: 1024, external: false },
                    now,
                    &mut next,
                ),
                Action::Grant { worker, block, attempt } => {
                    done += 1;
                    if done > limit {
                        break 'all;
                    }
                    s.handle(
                        Event::Reported {
                            worker,
                            block,
                            attempt,
                            outcome: Outcome::Succeeded,
                            duration: Duration::from_micros(1),
                        },
                        now,
                        &mut next,
                    )
                }
                Action::Dismiss { worker } => s.handle(
                    Event::WorkerExited {
                        worker,
                        exit: WorkerExit { clean: true, cause: "".into(), log_tail: "".into() },
                    },
                    now,
                    &mut next,
                ),
                _ => {}
            }
        }
        std::mem::swap(&mut actions, &mut next);
    }
    let dt = t0.elapsed();
    println!(
        "{done} blocks in {dt:?}: {:.2} M/s finished {}",
        done as f64 / dt.as_secs_f64() / 1e6,
        s.is_finished()
    );
}

fn main() {
    drive(vec![task("a", 100, 0, true)], &[], u64::MAX);
    drive(vec![task("a", 100, 2, true)], &[], u64::MAX);
    drive(vec![task("a", 464, 0, true)], &[], 10_000_000);
    drive(vec![task("a", 464, 2, true)], &[], 10_000_000);
    let e = |a, b| Edge { upstream: TaskId(a), downstream: TaskId(b) };
    drive(
        vec![task("a", 46, 2, true), task("b", 46, 2, true), task("c", 46, 2, true)],
        &[e(0, 1), e(1, 2)],
        u64::MAX,
    );
    drive(vec![task("a", 1000, 2, true)], &[], 5_000_000);
    println!(
        "{}",
        std::fs::read_to_string("/proc/self/status")
            .unwrap()
            .lines()
            .filter(|l| l.starts_with("VmHWM"))
            .collect::<String>()
    );
}
