//! Workers whose connection is dead without having ended: nothing comes over it any more, and neither side is told.
#![allow(missing_docs, clippy::unwrap_used)]

mod rig;

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use daisy_core::ids::{TaskId, WorkerId};
use daisy_core::run::{Encryption, RunConfig};
use daisy_core::scheduler::Outcome;
use daisy_core::wire::{Grant, Report, ServerMessage, WorkerMessage};
use rig::beside::gated;
use rig::peer::{Peer, success};
use rig::wire::{Way, Wire};
use rig::{Rig, Work, chain, task, workers};

/// One worker for these blocks, in a run that takes more than a second and a half of silence for the end of a connection.
fn impatient(blocks: i64, grace: Duration) -> RunConfig {
    let mut config = chain(vec![task("a", blocks, 0, workers(1))]);
    config.heartbeat = Duration::from_millis(250);
    config.settings.reconnect_grace = grace;
    config
}

/// Work that notes attempts after the first.
fn noting_attempts() -> (Arc<Mutex<Vec<Grant>>>, Work) {
    let again: Arc<Mutex<Vec<Grant>>> = Arc::default();
    let noted = Arc::clone(&again);
    let work: Work = Arc::new(move |_, grant: Grant| {
        if grant.attempt > 1 {
            noted.lock().unwrap().push(grant);
        }
        Outcome::Succeeded
    });
    (again, work)
}

/// A run whose one launched worker is a peer behind a wire.
fn with_a_peer(config: RunConfig, work: Work, asks: bool) -> (Rig, Wire, Peer, WorkerId) {
    let mut rig = Rig::start(config, work);
    rig.launch = Some(Box::new(|_, _| {}));
    rig.serve_until(|rig| rig.launched.len() == 1);
    let (wire, worker) = (Wire::to(&rig.run), rig.launched[0].1);
    let mut peer = Peer::over(std::net::TcpStream::connect(&wire.address).unwrap());
    peer.shake_hands(&rig.run, Some(worker));
    peer.register("a", 1, if asks { 64 } else { 0 }, Vec::new());
    assert!(matches!(peer.receive(), Some(ServerMessage::Welcome { .. })));
    (rig, wire, peer, worker)
}

/// Waits until the worker is given up; another one does what is left.
fn go_on_with_another(mut rig: Rig, given_up: WorkerId) -> daisy_core::run::RunEnd {
    rig.serve_until(|rig| rig.launched.len() == 2);
    assert_eq!(rig.killed, [given_up], "whoever launched it must end what may still be there");
    rig.start_worker(TaskId(0), Some(rig.launched[1].1));
    rig.finish().0
}

#[test]
fn a_worker_behind_a_dead_connection_comes_back_with_its_block() {
    for encryption in [Encryption::Off, Encryption::On] {
        for way in [Way::Both, Way::ToServer, Way::ToWorker] {
            let (open, work) = gated();
            let mut config = impatient(20, Duration::from_secs(60));
            config.listen.encryption = encryption;
            let mut rig = Rig::start(config, work);
            let wire = Wire::to(&rig.run);
            rig.reach_through = Some(wire.address.clone());
            rig.serve_until(|rig| rig.run.snapshot()[0].counters().leased > 0);
            let before = wire.connections.load(Ordering::SeqCst);
            wire.go_dead(way);
            rig.serve_until(|_| wire.connections.load(Ordering::SeqCst) > before);
            open.store(true, Ordering::Relaxed);
            let (end, _) = rig.finish();
            let counters = end.outcome.tasks[0].state.counters();
            let cost = (counters.failed_attempts, counters.worker_deaths, counters.refused_reports);
            assert_eq!((counters.completed, counters.returns, cost), (20, 20, (0, 0, 0)), "{way:?}");
        }
    }
}

#[test]
fn of_what_a_silent_worker_held_only_the_block_that_it_was_working_on_is_charged() {
    let (again, work) = noting_attempts();
    let (rig, wire, mut peer, worker) = with_a_peer(impatient(200, Duration::from_secs(1)), work, true);
    // Blocks that take no time come in heaps.
    let mut reported = 0;
    let held = loop {
        let grants = peer.next_grants().unwrap();
        if grants.len() > 2 {
            break grants;
        }
        reported += grants.len() as u64;
        let report = |grant: &Grant| Report { duration: Duration::ZERO, ..success(*grant) };
        peer.send(&WorkerMessage::Reports(grants.iter().map(report).collect()));
    };
    wire.go_dead_for_good();
    let end = go_on_with_another(rig, worker);
    let counters = end.outcome.tasks[0].state.counters();
    let cost = (counters.failed_attempts, counters.worker_deaths, counters.timeouts);
    assert_eq!((counters.completed, counters.returns, cost), (200, 200, (1, 1, 0)));
    assert_eq!(*again.lock().unwrap(), [Grant { attempt: 2, ..held[0] }], "of {held:?}, after {reported}");
}

#[test]
fn a_silent_worker_that_held_nothing_costs_no_attempt() {
    let (again, work) = noting_attempts();
    let (rig, wire, peer, worker) = with_a_peer(impatient(5, Duration::from_secs(1)), work, false);
    wire.go_dead_for_good();
    let end = go_on_with_another(rig, worker);
    let counters = end.outcome.tasks[0].state.counters();
    assert_eq!((counters.completed, counters.failed_attempts), (5, 0));
    assert!(again.lock().unwrap().is_empty());
    drop(peer);
}

/// Says what is wrong again and again, without ever reading what is said of it: more than any socket keeps.
fn flood(peer: &mut Peer) {
    let wrong = vec![success(Grant { index: 199, attempt: 7 }); 500];
    for _ in 0..2000 {
        peer.send(&WorkerMessage::Reports(wrong.clone()));
    }
}

#[test]
fn a_worker_that_reads_nothing_and_falls_silent_is_given_up() {
    let (_, work) = noting_attempts();
    let mut rig = Rig::start(impatient(200, Duration::from_secs(1)), work);
    rig.launch = Some(Box::new(|_, _| {}));
    rig.serve_until(|rig| rig.launched.len() == 1);
    let worker = rig.launched[0].1;
    let (mut peer, _) = Peer::join(&rig.run, "a", Some(worker));
    flood(&mut peer);
    let end = go_on_with_another(rig, worker);
    let counters = end.outcome.tasks[0].state.counters();
    assert_eq!((counters.completed, counters.failed_attempts, counters.worker_deaths), (200, 1, 1));
    drop(peer);
}
