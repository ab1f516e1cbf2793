//! A run that goes on while something happens beside it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use daisy_core::run::{Note, RunConfig};
use daisy_core::scheduler::Outcome;

use super::{Rig, Work, chain, task, workers};

/// Work that waits until it is opened.
pub fn gated() -> (Arc<AtomicBool>, Work) {
    let open = Arc::new(AtomicBool::new(false));
    let opened = Arc::clone(&open);
    let work = Arc::new(move |_, _| {
        while !opened.load(Ordering::Relaxed) {
            std::thread::park_timeout(Duration::from_millis(2));
        }
        Outcome::Succeeded
    });
    (open, work)
}

/// A run of 200 blocks and two workers that holds until `meanwhile` is done, then must end well; gives its notes.
pub fn beside_a_run(meanwhile: impl FnOnce(&mut Rig)) -> Vec<Note> {
    beside_a_run_with(|_| {}, meanwhile)
}

/// The same, of a run that is set up in a way of its own.
pub fn beside_a_run_with(set_up: impl FnOnce(&mut RunConfig), meanwhile: impl FnOnce(&mut Rig)) -> Vec<Note> {
    let (open, work) = gated();
    let mut config = chain(vec![task("a", 200, 3, workers(2))]);
    set_up(&mut config);
    let mut rig = Rig::start(config, work);
    rig.serve_until(|rig| rig.run.snapshot()[0].counters().leased == 2);
    meanwhile(&mut rig);
    let before = rig.run.snapshot()[0].clone();
    assert_eq!((before.counters().completed, before.counters().failed_attempts), (0, 0));
    open.store(true, Ordering::Relaxed);
    let (end, notes) = rig.finish();
    let counters = end.outcome.tasks[0].state.counters();
    assert_eq!((counters.completed, counters.failed_attempts, counters.worker_deaths), (200, 0, 0));
    notes
}
