//! What a worker says last arrives, whatever happens to its connection while it leaves.
#![allow(missing_docs, clippy::unwrap_used)]

mod rig;

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use daisy_core::ids::TaskId;
use daisy_core::run::{Encryption, Told};
use daisy_core::scheduler::Outcome;
use daisy_core::wire::{ServerMessage, WorkerClient, WorkerMessage};
use rig::peer::Peer;
use rig::wire::Wire;
use rig::{Rig, chain, exit, nothing, task, workers};

/// A worker whose last report and good-bye are lost on the way: what became of the run.
fn lose_the_last_words(encryption: Encryption) {
    let mut config = chain(vec![task("a", 2, 0, workers(1))]);
    config.listen.encryption = encryption;
    let mut rig = Rig::start(config, nothing());
    rig.launch = Some(Box::new(|_, _| {}));
    rig.serve_until(|rig| rig.launched.len() == 1);
    let wire = Wire::to(&rig.run);
    rig.reach_through = Some(wire.address.clone());
    let (task, worker) = rig.launched[0];
    let client = WorkerClient::connect(&rig.config(task, Some(worker))).unwrap();
    let grant = client.acquire().unwrap().unwrap();
    wire.swallows.store(true, Ordering::Relaxed);
    let before = wire.sent.load(Ordering::Relaxed);
    client.report(grant, Outcome::Succeeded, Duration::from_millis(1), None).unwrap();
    let closing = std::thread::spawn(move || client.close());
    // Draining, the report and the good-bye are 31 bytes at least; a heartbeat less would be no harm.
    rig.serve_until(|_| wire.sent.load(Ordering::Relaxed) >= before + 25);
    wire.swallows.store(false, Ordering::Relaxed);
    wire.cut();
    closing.join().unwrap();
    rig.run.tell(Told::WorkerExited { worker, exit: exit(true, "code 0") });
    rig.serve_until(|rig| rig.launched.len() == 2);
    rig.start_worker(task, Some(rig.launched[1].1));
    let (end, _) = rig.finish();
    let counters = end.outcome.tasks[0].state.counters();
    assert_eq!((counters.completed, counters.returns), (2, 2));
    assert_eq!((counters.failed_attempts, counters.worker_deaths, counters.refused_reports), (0, 0, 0));
}

#[test]
fn last_words_that_are_lost_are_said_again() {
    lose_the_last_words(Encryption::Off);
    lose_the_last_words(Encryption::On);
}

#[test]
fn a_good_bye_is_answered_with_what_has_arrived() {
    let mut rig = Rig::start(chain(vec![task("a", 5, 0, workers(1))]), nothing());
    rig.launch = Some(Box::new(|_, _| {}));
    rig.serve_until(|rig| rig.launched.len() == 1);
    let (task, worker) = rig.launched[0];
    let (mut peer, _) = Peer::join(&rig.run, "a", Some(worker));
    let grants = peer.next_grants().unwrap();
    peer.report(&grants);
    peer.send(&WorkerMessage::Goodbye);
    peer.stream.shutdown(std::net::Shutdown::Write).unwrap();
    let last = peer.receive_all().pop();
    assert_eq!(last, Some(ServerMessage::Heartbeat { reports_seen: grants.len() as u64 }));
    // Whoever has said good-bye does not come back.
    let mut again = Peer::connect(&rig.run);
    again.shake_hands(&rig.run, Some(worker));
    again.register("a", 1, 1, Vec::new());
    let answers = again.receive_all();
    assert!(
        matches!(&answers[..], [ServerMessage::Refused(said)] if said.text.contains("has said good-bye"))
    );
    rig.run.tell(Told::WorkerExited { worker, exit: exit(true, "code 0") });
    rig.serve_until(|rig| rig.launched.len() == 2);
    rig.start_worker(task, Some(rig.launched[1].1));
    assert!(rig.finish().0.outcome.has_succeeded());
}

#[test]
fn who_leaves_a_run_that_is_over_does_not_wait_for_it() {
    let mut rig = Rig::start(chain(vec![task("a", 3, 0, workers(1))]), nothing());
    rig.launch = Some(Box::new(|_, _| {}));
    rig.serve_until(|rig| rig.launched.len() == 1);
    let client = WorkerClient::connect(&rig.config(TaskId(0), Some(rig.launched[0].1))).unwrap();
    let grant = client.acquire().unwrap().unwrap();
    rig.run.tell(Told::Cancel);
    rig.serve_until(|_| false);
    drop(rig);
    client.report(grant, Outcome::Succeeded, Duration::from_millis(1), None).ok();
    let began = Instant::now();
    client.close();
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}
