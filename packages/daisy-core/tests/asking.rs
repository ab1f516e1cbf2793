//! Blocks go to those who ask for them: who only registers is given none, and who asks again and again costs nothing.
#![allow(missing_docs, clippy::unwrap_used)]

mod rig;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use daisy_core::ErrorKind;
use daisy_core::ids::{TaskId, WorkerId};
use daisy_core::run::{Note, Told};
use daisy_core::scheduler::Outcome;
use daisy_core::wire::{Acquired, WorkerClient, WorkerMessage};
use rig::peer::Peer;
use rig::wire::Wire;
use rig::{Rig, Work, chain, exit, nothing, task, workers};
use socket2::{Domain, Socket, Type};

/// A rig that starts no workers by itself, once it was asked for one.
fn by_hand(blocks: i64) -> (Rig, WorkerId) {
    let mut rig = Rig::start(chain(vec![task("a", blocks, 0, workers(1))]), nothing());
    rig.launch = Some(Box::new(|_, _| {}));
    rig.serve_until(|rig| rig.launched.len() == 1);
    let worker = rig.launched[0].1;
    (rig, worker)
}

/// Waits until the run shows this worker as connected; how many blocks it holds.
fn held_once_connected(rig: &mut Rig, worker: WorkerId) -> usize {
    let connected = |rig: &Rig| {
        rig.run
            .workers()
            .into_iter()
            .find(|view| view.worker == worker && view.connected)
            .map(|view| view.held)
    };
    rig.serve_until(|rig| connected(rig).is_some());
    connected(rig).unwrap()
}

#[test]
fn a_worker_that_dies_before_it_asks_costs_no_block_an_attempt() {
    let (mut rig, first) = by_hand(3);
    let client = WorkerClient::connect(&rig.config(TaskId(0), Some(first))).unwrap();
    assert_eq!(held_once_connected(&mut rig, first), 0);
    assert!(client.try_acquire().is_none());
    drop(client);
    rig.run.tell(Told::WorkerExited { worker: first, exit: exit(false, "SIGKILL") });
    rig.serve_until(|rig| rig.launched.len() == 2);
    rig.start_worker(TaskId(0), Some(rig.launched[1].1));
    let (end, _) = rig.finish();
    let counters = end.outcome.tasks[0].state.counters();
    assert_eq!((counters.completed, counters.failed_attempts, counters.worker_deaths), (3, 0, 1));
}

#[test]
fn a_stranger_that_registers_and_never_asks_holds_up_nobody() {
    let mut rig = Rig::start(chain(vec![task("a", 1, 0, workers(1))]), nothing());
    let (mut silent, welcome) = Peer::join_silent(&rig.run, "a", None);
    rig.launch = Some(Box::new(|_, _| {}));
    assert_eq!(held_once_connected(&mut rig, welcome.worker), 0);
    rig.serve_until(|rig| rig.launched.len() == 1);
    rig.start_worker(TaskId(0), Some(rig.launched[0].1));
    let (end, _) = rig.finish();
    assert!(end.outcome.has_succeeded());
    assert_eq!(silent.next_grants(), None, "it is told that there is nothing");
}

#[test]
fn who_registers_with_room_for_blocks_has_asked() {
    let (rig, worker) = by_hand(1);
    let (mut peer, _) = Peer::join(&rig.run, "a", Some(worker));
    let grants = peer.next_grants().unwrap();
    peer.report(&grants);
    assert!(rig.finish().0.outcome.has_succeeded());
}

#[test]
fn a_hundred_thousand_acquires_of_nothing_leave_nothing_behind() {
    let gate = Arc::new(std::sync::Barrier::new(2));
    let opened = Arc::clone(&gate);
    let work: Work = Arc::new(move |task, _| {
        if task == TaskId(0) {
            opened.wait();
        }
        Outcome::Succeeded
    });
    let config = chain(vec![task("a", 1, 0, workers(1)), task("b", 3, 0, workers(1))]);
    let mut rig = Rig::start(config, work);
    rig.serve_until(|rig| rig.run.snapshot()[0].counters().leased == 1);
    let wire = Wire::to(&rig.run);
    let mut config = rig.config(TaskId(1), None);
    config.addresses = vec![wire.address.clone()];
    let client = WorkerClient::connect(&config).unwrap();
    assert_eq!(client.acquire_timeout(Duration::ZERO).unwrap(), Acquired::TimedOut);
    let before = wire.sent.load(Ordering::Relaxed);
    for _ in 0..100_000 {
        assert_eq!(client.acquire_timeout(Duration::ZERO).unwrap(), Acquired::TimedOut);
    }
    // The question that was asked first, and perhaps some heartbeats.
    let sent = wire.sent.load(Ordering::Relaxed) - before;
    assert!(sent < 500, "{sent} bytes were sent for nothing");
    let worker = client.welcome().worker;
    assert_eq!(held_once_connected(&mut rig, worker), 0);
    gate.wait();
    while let Some(grant) = client.acquire().unwrap() {
        client.report(grant, Outcome::Succeeded, Duration::ZERO, None).unwrap();
    }
    client.close();
    let (end, _) = rig.finish();
    assert!(end.outcome.has_succeeded(), "{:?}", end.outcome);
}

/// A connection that comes from this port of this machine.
fn connect_from(source: SocketAddr, server: &str) -> Peer {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.set_reuse_address(true).unwrap();
    socket.bind(&source.into()).unwrap();
    socket.connect(&server.parse::<SocketAddr>().unwrap().into()).unwrap();
    Peer::over(socket.into())
}

#[test]
fn a_recycled_source_port_inherits_nothing() {
    let (rig, worker) = by_hand(4);
    let server = rig.run.addresses()[0].clone();
    let mut first = connect_from("127.0.0.1:0".parse().unwrap(), &server);
    let source = first.stream.local_addr().unwrap();
    first.shake_hands(&rig.run, Some(worker));
    first.register("a", 1, 1, Vec::new());
    let held = first.next_grants().unwrap();
    // Closed by a reset, so that the port is free at once.
    socket2::SockRef::from(&first.stream).set_linger(Some(Duration::ZERO)).unwrap();
    drop(first);

    let mut second = connect_from(source, &server);
    second.shake_hands(&rig.run, None);
    second.register("a", 2, 1, held.clone());
    let Some(daisy_core::wire::ServerMessage::Welcome { welcome, reports_seen, .. }) = second.receive()
    else {
        panic!("not welcome")
    };
    assert_ne!(welcome.worker, worker);
    assert_eq!(reports_seen, 0);
    let own = second.next_grants().unwrap();
    assert!(held.iter().all(|grant| !own.contains(grant)), "{held:?} {own:?}");
    // What was given to the one before cannot be reported on over the same port.
    second.report(&held);
    second.report(&own);
    rig.run.tell(Told::WorkerExited { worker, exit: exit(false, "gone") });
    while let Some(grants) = second.next_grants() {
        second.report(&grants);
    }
    let (end, notes) = rig.finish();
    let counters = end.outcome.tasks[0].state.counters();
    assert_eq!((counters.completed, counters.refused_reports, counters.failed_attempts), (4, 1, 1));
    let refused =
        |note: &&Note| matches!(note, Note::ReportRefused { worker, .. } if *worker == welcome.worker);
    assert_eq!(notes.iter().filter(refused).count(), 1);
}

#[test]
fn an_id_that_exited_without_ever_connecting_is_refused_kindly() {
    let (mut rig, first) = by_hand(1);
    rig.run.tell(Told::WorkerExited { worker: first, exit: exit(false, "never started") });
    rig.serve_until(|rig| rig.launched.len() == 2);
    let error = WorkerClient::connect(&rig.config(TaskId(0), Some(first))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert!(error.to_string().contains("worker id has ended"), "{error}");
    rig.start_worker(TaskId(0), Some(rig.launched[1].1));
    let (end, _) = rig.finish();
    let counters = end.outcome.tasks[0].state.counters();
    assert_eq!((counters.completed, counters.failed_attempts, counters.worker_deaths), (1, 0, 0));
}

#[test]
fn who_is_draining_waits_for_no_more_blocks() {
    let (mut rig, first) = by_hand(5);
    let client = WorkerClient::connect(&rig.config(TaskId(0), Some(first))).unwrap();
    let grant = client.acquire().unwrap().unwrap();
    client.drain();
    assert_eq!(client.acquire_timeout(Duration::from_secs(30)).unwrap(), Acquired::Ended);
    client.report(grant, Outcome::Succeeded, Duration::from_millis(1), None).unwrap();
    client.close();
    rig.run.tell(Told::WorkerExited { worker: first, exit: exit(true, "code 0") });
    rig.serve_until(|rig| rig.launched.len() == 2);
    rig.start_worker(TaskId(0), Some(rig.launched[1].1));
    let (end, _) = rig.finish();
    let counters = end.outcome.tasks[0].state.counters();
    assert_eq!((counters.completed, counters.failed_attempts), (5, 0));
}

#[test]
fn who_asks_twice_gets_no_more_than_once() {
    let (rig, worker) = by_hand(2);
    let (mut peer, _) = Peer::join_silent(&rig.run, "a", Some(worker));
    for capacity in [8, 0, u32::MAX] {
        peer.send(&WorkerMessage::Ready { capacity });
    }
    let grants = peer.next_grants().unwrap();
    assert_eq!(grants.len(), 1);
    peer.report(&grants);
    let grants = peer.next_grants().unwrap();
    peer.report(&grants);
    let (end, _) = rig.finish();
    assert_eq!(end.outcome.tasks[0].state.counters().returns, 2);
}
