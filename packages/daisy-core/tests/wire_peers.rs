//! Strangers, liars and broken connections beside a run that goes on.
#![allow(missing_docs, clippy::unwrap_used)]

mod rig;

use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use daisy_core::ids::{TaskId, WorkerId};
use daisy_core::run::Note;
use daisy_core::scheduler::Outcome;
use daisy_core::wire::{
    Grant, PROTOCOL_VERSION, Refused, Role, ServerMessage, Token, Transcript, WorkerClient, WorkerMessage,
};
use rig::beside::beside_a_run;
use rig::peer::Peer;
use rig::wire::Wire;
use rig::{Rig, Tally, Work, chain, exit, nothing, task, workers};

fn refusal(peer: &mut Peer) -> Refused {
    match peer.receive_all().pop() {
        Some(ServerMessage::Refused(refused)) => refused,
        other => panic!("not refused but {other:?}"),
    }
}

#[test]
fn garbage_is_turned_away() {
    let openings: [&[u8]; 7] = [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        &[0; 64],
        &[0xff; 64],
        &[0, 1, 0, 1],                                  // longer than a stranger may be
        &[0, 0, 0, 1, 0xc1],                            // no MessagePack
        &[0, 0, 0, 6, 0xdd, 0xff, 0xff, 0xff, 0xff, 1], // an array of 4 billion
        &[0, 0, 0, 2, 0x91, 7],                         // a heartbeat before a hello
    ];
    let notes = beside_a_run(|rig| {
        for opening in openings {
            let mut peer = Peer::connect(&rig.run);
            peer.stream.write_all(opening).unwrap();
            let answers = peer.receive_all();
            assert!(answers.iter().all(|answer| matches!(answer, ServerMessage::Refused(_))), "{answers:?}");
        }
    });
    let refused = notes.iter().filter(|note| matches!(note, Note::PeerRefused { .. })).count();
    assert_eq!((refused, notes.len()), (openings.len(), openings.len()), "{notes:?}");
}

#[test]
fn another_version_is_named_by_both() {
    beside_a_run(|rig| {
        let mut peer = Peer::connect(&rig.run);
        peer.send(&WorkerMessage::Hello { version: 99, nonce: [0; 32] });
        let refused = refusal(&mut peer);
        assert!(
            refused.text.contains("99") && refused.text.contains(&PROTOCOL_VERSION.to_string()),
            "{refused:?}"
        );
    });
}

#[test]
fn who_does_not_know_the_token_learns_nothing() {
    beside_a_run(|rig| {
        let mut config = rig.config(TaskId(0), None);
        config.token = Token::from_bytes([0; 32]);
        let error = WorkerClient::connect(&config).unwrap_err();
        assert_eq!(error.kind(), daisy_core::ErrorKind::Authentication, "{error}");

        // A proof that was heard on one connection is worth nothing on another, even for the same worker's nonce.
        let heard = Peer::connect(&rig.run).shake_hands(&rig.run, None);
        let mut peer = Peer::connect(&rig.run);
        peer.send(&WorkerMessage::Hello { version: PROTOCOL_VERSION, nonce: [1; 32] });
        assert!(matches!(peer.receive(), Some(ServerMessage::Challenge { .. })));
        peer.send(&WorkerMessage::Proof { worker: None, proof: heard.as_slice().try_into().unwrap() });
        assert_eq!(refusal(&mut peer).kind, daisy_core::ErrorKind::Authentication);

        // Nor is a proof for one worker id worth anything for another, or the server's own sent back to it.
        for (claimed, role) in [(Some(WorkerId(0)), Role::Worker), (None, Role::Server)] {
            let mut peer = Peer::connect(&rig.run);
            peer.send(&WorkerMessage::Hello { version: PROTOCOL_VERSION, nonce: [1; 32] });
            let Some(ServerMessage::Challenge { nonce, .. }) = peer.receive() else { panic!() };
            let transcript = Transcript { worker_nonce: [1; 32], server_nonce: nonce, worker: None };
            let proof = transcript.prove(rig.run.token(), role);
            peer.send(&WorkerMessage::Proof { worker: claimed, proof });
            assert_eq!(refusal(&mut peer).kind, daisy_core::ErrorKind::Authentication);
        }
    });
}

#[test]
fn impossible_registrations_are_refused_and_say_why() {
    beside_a_run(|rig| {
        let (_, taken) = rig.launched[0];
        for (name, worker, expected) in [
            ("no such task", None, "no such task"),
            ("a", Some(WorkerId(77)), "not known"),
            ("a", Some(taken), "taken by another worker"),
        ] {
            let mut peer = Peer::connect(&rig.run);
            peer.shake_hands(&rig.run, worker);
            peer.register(name, 9, 1, Vec::new());
            let refused = refusal(&mut peer);
            assert!(refused.text.contains(expected), "{refused:?}");
        }
    });
}

#[test]
fn an_ended_worker_does_not_come_back() {
    let mut rig = Rig::start(chain(vec![task("a", 20, 0, workers(1))]), nothing());
    rig.launch = Some(Box::new(|_, _| {}));
    rig.serve_until(|rig| rig.launched.len() == 1);
    let (_, worker) = rig.launched[0];
    rig.run.tell(daisy_core::run::Told::WorkerExited { worker, exit: exit(false, "never started") });
    rig.serve_until(|rig| rig.launched.len() == 2);
    let mut peer = Peer::connect(&rig.run);
    peer.shake_hands(&rig.run, Some(worker));
    peer.register("a", 1, 1, Vec::new());
    assert!(refusal(&mut peer).text.contains("has ended"));
    rig.start_worker(TaskId(0), Some(rig.launched[1].1));
    let (end, _) = rig.finish();
    assert!(end.outcome.has_succeeded());
}

#[test]
fn a_crowd_of_strangers_does_not_hold_up_a_run() {
    let mut rig = Rig::start(chain(vec![task("a", 2000, 0, workers(2))]), nothing());
    let silent: Vec<TcpStream> =
        (0..300).map(|_| TcpStream::connect(&rig.run.addresses()[0]).unwrap()).collect();
    let dripping: Vec<TcpStream> = (0..100)
        .map(|_| {
            let mut stream = TcpStream::connect(&rig.run.addresses()[0]).unwrap();
            stream.write_all(&[0, 0]).unwrap();
            stream
        })
        .collect();
    let began = Instant::now();
    rig.serve_until(|_| false);
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    drop((silent, dripping));
    let (end, _) = rig.finish();
    assert!(end.outcome.has_succeeded());
}

#[test]
fn workers_pass_a_crowd_that_takes_every_place() {
    let mut rig = Rig::start(chain(vec![task("a", 200, 0, workers(2))]), nothing());
    rig.launch = Some(Box::new(|_, _| {}));
    rig.serve_until(|rig| rig.launched.len() == 2);
    let crowd: Vec<TcpStream> =
        (0..2000).map(|_| TcpStream::connect(&rig.run.addresses()[0]).unwrap()).collect();
    for (task, worker) in rig.launched.clone() {
        rig.start_worker(task, Some(worker));
    }
    let began = Instant::now();
    let (end, _) = rig.finish();
    assert!(end.outcome.has_succeeded());
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    drop(crowd);
}

#[test]
fn a_stranger_that_says_nothing_is_sent_away_in_five_seconds() {
    beside_a_run(|rig| {
        let began = Instant::now();
        let mut peer = Peer::connect(&rig.run);
        assert!(refusal(&mut peer).text.contains("too long"));
        assert!(began.elapsed() > Duration::from_secs(4) && began.elapsed() < Duration::from_secs(15));
    });
}

#[test]
fn reports_that_cannot_be_are_refused_and_change_nothing() {
    let mut rig = Rig::start(chain(vec![task("a", 9, 0, workers(1))]), nothing());
    rig.launch = Some(Box::new(|_, _| {}));
    rig.serve_until(|rig| rig.launched.len() == 1);
    let (mut liar, _) = Peer::join(&rig.run, "a", Some(rig.launched[0].1));
    let first = liar.next_grants().unwrap();
    let foreign = Grant { index: 8, attempt: 1 };
    let absurd = Grant { index: u64::MAX, attempt: 1 };
    let old = Grant { attempt: first[0].attempt + 1, ..first[0] };
    liar.report(&[foreign, absurd, old, first[0], first[0]]);
    let mut reasons = Vec::new();
    while reasons.len() < 4 {
        if let Some(ServerMessage::ReportRefused { index, reason }) = liar.receive() {
            reasons.push((index, reason));
        }
    }
    let expected = [
        (8, "not_held"),
        (u64::MAX, "not_held"),
        (first[0].index, "old_attempt"),
        (first[0].index, "not_held"),
    ];
    let expected: Vec<(u64, String)> =
        expected.iter().map(|(index, why)| (*index, (*why).to_owned())).collect();
    assert_eq!(reasons, expected);
    liar.send(&WorkerMessage::Return(vec![8, u64::MAX]));
    drop(liar);
    rig.start_worker(TaskId(0), None);
    rig.run.tell(daisy_core::run::Told::WorkerExited {
        worker: rig.launched[0].1,
        exit: exit(false, "liar left"),
    });
    let (end, notes) = rig.finish();
    let counters = end.outcome.tasks[0].state.counters();
    assert_eq!((counters.completed, counters.returns, counters.refused_reports), (9, 9, 4));
    assert_eq!(notes.iter().filter(|note| matches!(note, Note::ReportRefused { .. })).count(), 4);
}

#[test]
fn a_registered_peer_that_talks_garbage_loses_its_connection_only() {
    let mut rig = Rig::start(chain(vec![task("a", 50, 0, workers(1))]), nothing());
    rig.launch = Some(Box::new(|_, _| {}));
    rig.serve_until(|rig| rig.launched.len() == 1);
    let (mut peer, welcome) = Peer::join(&rig.run, "a", None);
    peer.next_grants().unwrap();
    peer.stream.write_all(&[0, 0, 0, 1, 0xc1]).unwrap();
    peer.receive_all();
    // Under its old identity it may come back, and gets what it does not claim to hold again.
    let mut back = Peer::connect(&rig.run);
    back.shake_hands(&rig.run, Some(welcome.worker));
    back.register("a", 1, 4, Vec::new());
    assert!(matches!(back.receive(), Some(ServerMessage::Welcome { .. })));
    while let Some(grants) = back.next_grants() {
        assert!(grants.iter().all(|grant| grant.attempt == 1));
        back.report(&grants);
    }
    let (end, _) = rig.finish();
    let counters = end.outcome.tasks[0].state.counters();
    assert_eq!((counters.completed, counters.failed_attempts), (50, 0));
}

#[test]
fn cut_connections_lose_and_repeat_nothing() {
    let tally = Arc::new(Tally::default());
    let noted = Arc::clone(&tally);
    let work: Work = Arc::new(move |task, grant| {
        noted.note(task, grant.index);
        Outcome::Succeeded
    });
    let mut config = chain(vec![task("a", 60_000, 0, workers(2))]);
    // A worker that was just cut off when the run ended finds the wire, but nobody behind it.
    config.settings.reconnect_grace = Duration::from_secs(5);
    let mut rig = Rig::start(config, work);
    let wire = Wire::to(&rig.run);
    rig.reach_through = Some(wire.address.clone());
    let mut cuts = 0;
    rig.serve_until(|rig| {
        let completed = rig.run.snapshot()[0].counters().completed;
        if completed > 7_000 * (cuts + 1) && cuts < 5 {
            wire.cut();
            cuts += 1;
        }
        cuts == 5
    });
    let (end, _) = rig.finish();
    let counters = end.outcome.tasks[0].state.counters();
    assert_eq!((counters.completed, counters.failed_attempts, counters.worker_deaths), (60_000, 0, 0));
    assert_eq!(counters.refused_reports, 0);
    assert_eq!(tally.runs(), vec![1; 60_000]);
}

#[test]
fn workers_that_leave_after_one_block_lose_no_report() {
    let tally = Arc::new(Tally::default());
    let mut rig = Rig::start(chain(vec![task("a", 40, 0, workers(2))]), nothing());
    rig.launch = Some(Box::new(|_, _| {}));
    let mut started = 0;
    let mut threads = Vec::new();
    rig.serve_until(|rig| {
        for (task, worker) in rig.launched[started..].iter().copied() {
            let (config, run, tally) =
                (rig.config(task, Some(worker)), Arc::clone(&rig.run), Arc::clone(&tally));
            threads.push(std::thread::spawn(move || {
                let client = WorkerClient::connect(&config).unwrap();
                if let Some(grant) = client.acquire().unwrap() {
                    tally.note(task, grant.index);
                    client.report(grant, Outcome::Succeeded, Duration::from_millis(1), None).unwrap();
                }
                client.close();
                run.tell(daisy_core::run::Told::WorkerExited { worker, exit: exit(true, "code 0") });
            }));
        }
        started = rig.launched.len();
        false
    });
    for thread in threads {
        thread.join().unwrap();
    }
    let (end, _) = rig.finish();
    assert!(end.outcome.has_succeeded(), "{:?}", end.outcome);
    assert_eq!(tally.runs(), vec![1; 40]);
}

#[test]
fn a_block_that_a_worker_leaves_behind_costs_an_attempt() {
    let mut rig = Rig::start(chain(vec![task("a", 1, 0, workers(1))]), nothing());
    rig.launch = Some(Box::new(|_, _| {}));
    rig.serve_until(|rig| rig.launched.len() == 1);
    let client = WorkerClient::connect(&rig.config(TaskId(0), Some(rig.launched[0].1))).unwrap();
    let grant = client.acquire().unwrap().unwrap();
    client.close();
    assert!(client.report(grant, Outcome::Succeeded, Duration::ZERO, None).is_err());
    assert!(matches!(client.acquire(), Ok(None)));
    rig.run
        .tell(daisy_core::run::Told::WorkerExited { worker: rig.launched[0].1, exit: exit(true, "code 0") });
    rig.serve_until(|rig| rig.launched.len() == 2);
    rig.start_worker(TaskId(0), Some(rig.launched[1].1));
    let (end, _) = rig.finish();
    let counters = end.outcome.tasks[0].state.counters();
    assert_eq!((counters.completed, counters.failed_attempts), (1, 1), "{:?}", end.outcome);
}

#[test]
fn who_comes_back_takes_over_a_connection_that_seems_alive() {
    let mut rig = Rig::start(chain(vec![task("a", 30, 0, workers(1))]), nothing());
    rig.launch = Some(Box::new(|_, _| {}));
    rig.serve_until(|rig| rig.launched.len() == 1);
    let (mut old, welcome) = Peer::join(&rig.run, "a", Some(rig.launched[0].1));
    let held = old.next_grants().unwrap();
    let mut new = Peer::connect(&rig.run);
    new.shake_hands(&rig.run, Some(welcome.worker));
    new.register("a", 1, 4, held.clone());
    let Some(ServerMessage::Welcome { reports_seen: 0, .. }) = new.receive() else { panic!() };
    old.receive_all();
    new.report(&held);
    while let Some(grants) = new.next_grants() {
        new.report(&grants);
    }
    let (end, _) = rig.finish();
    let counters = end.outcome.tasks[0].state.counters();
    assert_eq!((counters.completed, counters.returns, counters.refused_reports), (30, 30, 0));
}

#[test]
fn last_words_of_an_ended_worker_are_heard() {
    let mut rig = Rig::start(chain(vec![task("a", 1, 0, workers(1))]), nothing());
    rig.launch = Some(Box::new(|_, _| {}));
    rig.serve_until(|rig| rig.launched.len() == 1);
    let worker = rig.launched[0].1;
    let (mut peer, _) = Peer::join(&rig.run, "a", Some(worker));
    let held = peer.next_grants().unwrap();
    // Its launcher is faster than its connection.
    rig.run.tell(daisy_core::run::Told::WorkerExited { worker, exit: exit(false, "code 1") });
    rig.serve_until(|rig| rig.run.workers().iter().all(|view| view.worker == worker));
    peer.report(&held);
    drop(peer);
    let (end, _) = rig.finish();
    let counters = end.outcome.tasks[0].state.counters();
    assert_eq!((counters.completed, counters.failed_attempts), (1, 0), "{:?}", end.outcome);
}
