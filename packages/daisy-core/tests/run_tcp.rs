//! Whole runs over real sockets.
#![allow(missing_docs, clippy::unwrap_used)]

mod rig;

use std::sync::Arc;
use std::time::Duration;

use daisy_core::ids::{BlockRef, TaskId};
use daisy_core::marks::MarkSink;
use daisy_core::plan::{RetryPolicy, TaskOptions};
use daisy_core::run::{Note, Told};
use daisy_core::scheduler::{BlockEnd, Outcome, TaskState, WorkerExit};
use daisy_core::wire::{WorkerClient, WorkerConfig};
use rig::{Rig, Tally, chain, nothing, task, workers};

#[test]
fn a_chain_runs_to_its_end_every_block_once() {
    let tally = Arc::new(Tally::default());
    let noted = Arc::clone(&tally);
    let work = Arc::new(move |task, grant: daisy_core::wire::Grant| {
        noted.note(task, grant.index);
        Outcome::Succeeded
    });
    let config = chain(vec![task("a", 5000, 3, workers(3)), task("b", 5000, 12, workers(2))]);
    let (end, notes) = Rig::start(config, work).finish();
    assert!(end.outcome.has_succeeded() && end.error.is_none(), "{:?}", end.outcome);
    assert_eq!(tally.runs(), vec![1; 10_000]);
    assert!(notes.is_empty(), "{notes:?}");
    let workers = &end.stats.per_worker;
    assert_eq!(workers.iter().map(|worker| worker.blocks_processed).sum::<u64>(), 10_000);
    assert!(workers.iter().all(|worker| worker.launched && worker.tally.failed == 0));
    assert!(
        end.stats.per_task.iter().all(|task| task.blocks_processed == 5000 && task.seconds.count == 5000)
    );
}

#[test]
fn failures_are_tried_again_and_their_text_arrives() {
    let tally = Arc::new(Tally::default());
    let noted = Arc::clone(&tally);
    let work = Arc::new(move |task, grant: daisy_core::wire::Grant| {
        let attempt = noted.note(task, grant.index);
        assert_eq!(attempt, grant.attempt);
        match grant.index {
            7 => Outcome::Failed { error: "ValueError: seven".into() },
            9 if attempt == 1 => Outcome::Failed { error: "x".repeat(100_000).into() },
            _ => Outcome::Succeeded,
        }
    });
    let (end, notes) = Rig::start(chain(vec![task("a", 100, 0, workers(2))]), work).finish();
    let outcome = &end.outcome.tasks[0];
    let counters = outcome.state.counters();
    assert_eq!((counters.completed, counters.failed, counters.failed_attempts), (99, 1, 4));
    assert_eq!(outcome.failed.iter().collect::<Vec<_>>(), [7]);
    assert_eq!(notes.len(), 4);
    let seven = outcome.errors.iter().find(|group| group.summary == "ValueError: seven").unwrap();
    assert_eq!((seven.count, seven.examples.len()), (3, 1));
    assert!(outcome.errors.iter().all(|group| group.first.len() < 10_000));
    let of_workers = end.stats.per_worker.iter().map(|worker| (worker.tally.succeeded, worker.tally.failed));
    assert_eq!(of_workers.fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1)), (99, 4));
    assert_eq!(end.stats.per_task[0].blocks_processed, 103);
}

#[test]
fn checked_blocks_are_skipped() {
    let options = TaskOptions { checked: true, ..workers(2) };
    let (end, _) = Rig::start(chain(vec![task("a", 100, 0, options)]), nothing()).finish();
    let counters = end.outcome.tasks[0].state.counters();
    assert_eq!((counters.completed, counters.skipped), (50, 50));
}

#[test]
fn a_run_without_blocks_ends_at_once() {
    let (end, _) = Rig::start(chain(vec![task("a", 0, 3, workers(2))]), nothing()).finish();
    assert!(end.outcome.has_succeeded());
    assert!(matches!(end.outcome.tasks[0].state, TaskState::Done(_)));
}

#[test]
fn a_worker_started_by_hand_is_given_an_id_and_counted() {
    let mut rig = Rig::start(chain(vec![task("a", 1000, 0, workers(1))]), nothing());
    rig.launch = Some(Box::new(|_, _| {}));
    rig.start_worker(TaskId(0), None);
    let (end, _) = rig.finish();
    assert!(end.outcome.has_succeeded());
    // The worker that was launched and never came has an entry, too.
    let facts = end.stats.per_worker.iter().map(|worker| (worker.launched, worker.blocks_processed));
    assert_eq!(facts.collect::<Vec<_>>(), [(true, 0), (false, 1000)]);
}

#[test]
fn a_worker_that_is_to_leave_is_not_kept_waiting() {
    let mut rig = Rig::start(chain(vec![task("a", 1, 0, workers(1))]), nothing());
    rig.launch = Some(Box::new(|_, _| {}));
    let busy = WorkerClient::connect(&rig.config(TaskId(0), None)).unwrap();
    let grant = busy.acquire().unwrap().unwrap();
    let idle = WorkerClient::connect(&rig.config(TaskId(0), None)).unwrap();
    idle.drain();
    assert_eq!(idle.acquire().unwrap(), None);
    idle.close();
    busy.report(grant, Outcome::Succeeded, Duration::ZERO, None).unwrap();
    busy.close();
    assert!(rig.finish().0.outcome.has_succeeded());
}

#[test]
fn workers_that_are_ended_from_outside_before_they_connect_are_replaced() {
    let mut rig = Rig::start(chain(vec![task("a", 10, 0, workers(1))]), nothing());
    let (run, config) = (Arc::clone(&rig.run), rig.config(TaskId(0), None));
    let mut ended = 0;
    rig.launch = Some(Box::new(move |_, worker| {
        ended += 1;
        if ended <= 10 {
            let exit = WorkerExit { outside: true, ..rig::exit(false, "signal SIGTERM") };
            run.tell(Told::WorkerExited { worker, exit });
        } else {
            let client =
                WorkerClient::connect(&WorkerConfig { worker: Some(worker), ..config.clone() }).unwrap();
            while let Some(grant) = client.acquire().unwrap() {
                client.report(grant, Outcome::Succeeded, Duration::ZERO, None).unwrap();
            }
            client.close();
            run.tell(Told::WorkerExited { worker, exit: rig::exit(true, "done") });
        }
    }));
    rig.serve_until(|rig| rig.run.snapshot()[0].has_ended());
    rig.launch = None;
    let end = rig.finish().0;
    assert!(end.outcome.has_succeeded(), "{:?}", end.outcome);
    assert_eq!(end.outcome.tasks[0].state.counters().workers_never_connected, 0);
}

#[test]
fn a_late_block_is_taken_back_and_its_worker_ended() {
    let options = TaskOptions {
        retry: RetryPolicy { timeout: Some(Duration::from_secs(2)), ..RetryPolicy::default() },
        ..workers(2)
    };
    let gate = Arc::new(std::sync::Barrier::new(2));
    let opened = Arc::clone(&gate);
    let work = Arc::new(move |_, grant: daisy_core::wire::Grant| {
        if (grant.index, grant.attempt) == (3, 1) {
            opened.wait();
        }
        Outcome::Succeeded
    });
    let mut rig = Rig::start(chain(vec![task("a", 10, 0, options)]), work);
    assert!(!rig.serve_until(|rig| !rig.killed.is_empty()) || !rig.killed.is_empty());
    rig.serve_until(|rig| rig.run.snapshot()[0].has_ended());
    gate.wait();
    let (end, _) = rig.finish();
    let counters = end.outcome.tasks[0].state.counters();
    assert!(end.outcome.has_succeeded(), "{:?}", end.outcome);
    assert_eq!((counters.timeouts, counters.failed_attempts), (1, 1));
}

#[test]
fn a_cancelled_run_ends_at_once_and_says_so() {
    let work = Arc::new(|_, _| {
        std::thread::park_timeout(Duration::from_millis(50));
        Outcome::Succeeded
    });
    let mut rig = Rig::start(chain(vec![task("a", 100_000, 0, workers(2))]), work);
    rig.serve_until(|rig| rig.ran.load(std::sync::atomic::Ordering::Relaxed) > 3);
    rig.run.tell(daisy_core::run::Told::Cancel);
    let asked = std::time::Instant::now();
    let (end, _) = rig.finish();
    assert!(end.outcome.cancelled && !end.outcome.has_succeeded());
    assert!(asked.elapsed() < Duration::from_secs(2));
}

#[test]
fn a_run_in_which_nothing_ends_says_who_holds_what() {
    let gate = Arc::new(std::sync::Barrier::new(2));
    let opened = Arc::clone(&gate);
    let work = Arc::new(move |task, _| {
        if task == TaskId(0) {
            opened.wait();
        }
        Outcome::Succeeded
    });
    let mut config = chain(vec![task("a", 1, 0, workers(1)), task("b", 1, 0, workers(1))]);
    config.stall_after = Some(Duration::from_millis(50));
    config.observe_every = Duration::from_millis(10);
    let mut rig = Rig::start(config, work);
    rig.serve_until(|rig| {
        let held = |note: &Note| matches!(note, Note::Stalled { report } if report.contains("block 0 since"));
        rig.notes.iter().any(held)
    });
    let Some(Note::Stalled { report }) = rig.notes.last() else { panic!() };
    assert!(report.contains("1 waiting for other blocks (reads from a)"), "{report}");
    gate.wait();
    let (end, _) = rig.finish();
    assert!(end.outcome.has_succeeded());
}

/// A store that takes what it is told, and is full after some blocks.
struct Store {
    settled: Arc<std::sync::Mutex<Vec<u64>>>,
    full_after: usize,
}

impl MarkSink for Store {
    fn settled(&mut self, block: BlockRef, end: BlockEnd) {
        let mut settled = self.settled.lock().unwrap();
        if end == BlockEnd::Completed && settled.len() < self.full_after {
            settled.push(block.index);
        }
    }

    fn failed_attempt(&mut self, _: BlockRef) {}

    fn measured(&mut self, _: BlockRef, _: &daisy_core::Measurement) {}

    fn flush(&mut self) -> daisy_core::Result<()> {
        if self.settled.lock().unwrap().len() < self.full_after {
            return Ok(());
        }
        Err(daisy_core::Error::new(daisy_core::ErrorKind::Store, "no space left"))
    }
}

#[test]
fn a_store_that_fails_ends_the_run_with_its_error() {
    let settled = Arc::default();
    let mut config = chain(vec![task("a", 100_000, 0, workers(2))]);
    config.marks = Some(Box::new(Store { settled: Arc::clone(&settled), full_after: 20 }));
    let work = Arc::new(|_, _| {
        std::thread::park_timeout(Duration::from_millis(5));
        Outcome::Succeeded
    });
    let (end, _) = Rig::start(config, work).finish();
    assert!(end.error.unwrap().to_string().contains("no space left"));
    assert!(end.outcome.cancelled && end.outcome.tasks[0].state.counters().completed < 100_000);
}

#[test]
fn a_store_hears_of_every_block_that_is_done() {
    let settled = Arc::default();
    let mut config = chain(vec![task("a", 1000, 0, workers(2))]);
    config.marks = Some(Box::new(Store { settled: Arc::clone(&settled), full_after: usize::MAX }));
    let (end, _) = Rig::start(config, nothing()).finish();
    assert!(end.outcome.has_succeeded() && end.error.is_none());
    let mut settled = settled.lock().unwrap().clone();
    settled.sort_unstable();
    assert!(settled.into_iter().eq(0..1000));
}
