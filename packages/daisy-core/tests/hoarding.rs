//! Who holds how many blocks: one each while blocks are long, several while they are short, and what that costs.
#![allow(missing_docs, clippy::unwrap_used)]

mod rig;

use std::sync::{Arc, Barrier};
use std::time::Duration;

use daisy_core::run::{Run, Told};
use daisy_core::scheduler::Outcome;
use daisy_core::wire::{Grant, Report, WorkerMessage};
use rig::peer::Peer;
use rig::{Rig, chain, exit, nothing, task, workers};

/// Reports on blocks that took this long.
fn report(peer: &mut Peer, grants: &[Grant], duration: Duration) {
    let report =
        |grant: &Grant| Report { grant: *grant, outcome: Outcome::Succeeded, duration, measurement: None };
    peer.send(&WorkerMessage::Reports(grants.iter().map(report).collect()));
}

/// What one of several workers is given, round by round; none reports before all have something.
fn rounds(run: &Run, worker: daisy_core::ids::WorkerId, all: &Barrier, duration: Duration) -> Vec<usize> {
    let (mut peer, _) = Peer::join(run, "a", Some(worker));
    let mut given = Vec::new();
    while let Some(grants) = peer.next_grants() {
        given.push(grants.len());
        all.wait();
        report(&mut peer, &grants, duration);
    }
    given
}

#[test]
fn eight_workers_and_sixteen_long_blocks_are_two_rounds_of_one_each() {
    for duration in [Duration::from_millis(100), Duration::from_millis(10)] {
        let mut rig = Rig::start(chain(vec![task("a", 16, 0, workers(8))]), nothing());
        rig.launch = Some(Box::new(|_, _| {}));
        rig.serve_until(|rig| rig.launched.len() == 8);
        let all = Arc::new(Barrier::new(8));
        let threads: Vec<_> = rig
            .launched
            .iter()
            .map(|(_, worker)| {
                let (run, all, worker) = (Arc::clone(&rig.run), Arc::clone(&all), *worker);
                std::thread::spawn(move || rounds(&run, worker, &all, duration))
            })
            .collect();
        for thread in threads {
            assert_eq!(thread.join().unwrap(), [1, 1], "blocks of {duration:?}");
        }
        let (end, _) = rig.finish();
        assert!(end.outcome.has_succeeded());
    }
}

/// A worker that has processed short blocks until it was given several at once; what it holds then.
fn with_several(rig: &mut Rig) -> (Peer, Vec<Grant>) {
    rig.launch = Some(Box::new(|_, _| {}));
    rig.serve_until(|rig| rig.launched.len() == 1);
    let (mut peer, _) = Peer::join(&rig.run, "a", Some(rig.launched[0].1));
    loop {
        let grants = peer.next_grants().unwrap();
        if grants.len() > 2 {
            return (peer, grants);
        }
        report(&mut peer, &grants, Duration::from_micros(1));
    }
}

#[test]
fn of_the_blocks_of_a_dead_worker_only_the_first_has_lost_an_attempt() {
    let mut rig = Rig::start(chain(vec![task("a", 5000, 0, workers(1))]), nothing());
    let (peer, held) = with_several(&mut rig);
    drop(peer);
    let (task, first) = rig.launched[0];
    rig.run.tell(Told::WorkerExited { worker: first, exit: exit(false, "SIGKILL") });
    rig.serve_until(|rig| rig.launched.len() == 2);
    rig.start_worker(task, Some(rig.launched[1].1));
    let (end, notes) = rig.finish();
    let counters = end.outcome.tasks[0].state.counters();
    assert!(held.len() > 2);
    assert_eq!((counters.completed, counters.failed_attempts, counters.worker_deaths), (5000, 1, 1));
    assert_eq!(counters.returns, 5000);
    assert!(notes.iter().any(|note| matches!(
        note,
        daisy_core::run::Note::BlockFailed { block, .. } if block.index == held[0].index
    )));
}

#[test]
fn blocks_that_turn_out_long_are_not_handed_out_in_batches_any_more() {
    let mut rig = Rig::start(chain(vec![task("a", 5000, 0, workers(1))]), nothing());
    let (mut peer, held) = with_several(&mut rig);
    report(&mut peer, &held, Duration::from_millis(100));
    let mut held_now = held.len();
    // What is under way to it may still be several; from then on it is one.
    while held_now != 1 {
        let grants = peer.next_grants().unwrap();
        held_now = grants.len();
        report(&mut peer, &grants, Duration::from_millis(100));
    }
    for _ in 0..20 {
        let grants = peer.next_grants().unwrap();
        assert_eq!(grants.len(), 1);
        report(&mut peer, &grants, Duration::from_millis(100));
    }
    rig.run.tell(Told::Cancel);
    drop(peer);
    rig.finish();
}
