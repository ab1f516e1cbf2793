//! Whatever a peer says before it is a worker, with the token or without: a run beside it goes on, and memory stays small.
#![allow(missing_docs, clippy::unwrap_used)]

mod rig;

use std::io::Write;
use std::time::Duration;

use daisy_core::ids::WorkerId;
use daisy_core::run::Run;
use daisy_core::wire::{Grant, MAX_FRAME, PROTOCOL_VERSION, WorkerMessage, append_frame};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use rig::beside::beside_a_run;
use rig::peer::{Peer, success};

/// Growth of the process that is allowed over all cases: sockets and buffers, never what a header announces.
const MOST_GROWTH: u64 = 64 << 20;

/// Something that is sent.
#[derive(Clone, Debug)]
enum Said {
    Message(WorkerMessage),
    Bytes(Vec<u8>),
    /// A header that announces this much, and less behind it.
    Announced(u32, Vec<u8>),
    /// A frame of this body.
    Frame(Vec<u8>),
}

/// A connection from its beginning to its end.
#[derive(Clone, Debug)]
struct Visit {
    /// Whether it proves that it knows the token first, and for which worker.
    proves: Option<Option<u64>>,
    says: Vec<Said>,
    /// Whether it is reset in the end.
    resets: bool,
}

fn visits() -> impl Strategy<Value = Visit> {
    let grant = (0u64..300, 0u32..3).prop_map(|(index, attempt)| Grant { index, attempt });
    let message = prop_oneof![
        any::<u32>().prop_map(|version| WorkerMessage::Hello { version, nonce: [1; 32] }),
        Just(WorkerMessage::Hello { version: PROTOCOL_VERSION, nonce: [1; 32] }),
        (proptest::option::of(0u64..4), any::<[u8; 32]>())
            .prop_map(|(worker, proof)| WorkerMessage::Proof { worker: worker.map(WorkerId), proof }),
        // Under a name that no task has: a worker that is let in is the affair of another test.
        ("[^a]{0,3}", any::<[u8; 16]>(), any::<u32>(), vec(grant, 0..5)).prop_map(
            |(task, incarnation, capacity, held)| WorkerMessage::Register {
                task,
                incarnation,
                capacity,
                held
            }
        ),
        grant_reports(),
        vec(any::<u64>(), 0..5).prop_map(WorkerMessage::Return),
        Just(WorkerMessage::Draining),
        Just(WorkerMessage::Heartbeat),
        Just(WorkerMessage::Goodbye),
        any::<u32>().prop_map(|capacity| WorkerMessage::Ready { capacity }),
    ];
    let length = prop_oneof![any::<u32>(), 1..MAX_FRAME as u32, Just(0), Just(u32::MAX)];
    let said = prop_oneof![
        4 => message.prop_map(Said::Message),
        2 => vec(any::<u8>(), 0..300).prop_map(Said::Bytes),
        2 => (length, vec(any::<u8>(), 0..300)).prop_map(|(length, bytes)| Said::Announced(length, bytes)),
        2 => vec(any::<u8>(), 1..100).prop_map(Said::Frame),
    ];
    let proves = proptest::option::of(proptest::option::of(0u64..4));
    (proves, vec(said, 0..6), any::<bool>()).prop_map(|(proves, says, resets)| Visit { proves, says, resets })
}

fn grant_reports() -> impl Strategy<Value = WorkerMessage> {
    vec((0u64..300, 0u32..3), 0..5).prop_map(|grants| {
        let report = |(index, attempt)| success(Grant { index, attempt });
        WorkerMessage::Reports(grants.into_iter().map(report).collect())
    })
}

fn visit(run: &Run, visit: Visit) {
    let mut peer = Peer::connect(run);
    if let Some(worker) = visit.proves {
        peer.shake_hands(run, worker.map(WorkerId));
    }
    for said in visit.says {
        let mut bytes = Vec::new();
        match said {
            Said::Message(message) => append_frame(&mut bytes, |body| message.pack(body)).unwrap(),
            Said::Frame(body) => append_frame(&mut bytes, |out| out.extend_from_slice(&body)).unwrap(),
            Said::Bytes(said) => bytes = said,
            Said::Announced(length, rest) => {
                bytes.extend(length.to_be_bytes());
                bytes.extend(rest);
            }
        }
        // It may have been turned away already.
        if peer.stream.write_all(&bytes).is_err() {
            return;
        }
    }
    if visit.resets {
        socket2::SockRef::from(&peer.stream).set_linger(Some(Duration::ZERO)).unwrap();
    } else {
        peer.stream.shutdown(std::net::Shutdown::Write).ok();
        peer.drain_bytes();
    }
}

/// The largest that this process has ever been, in bytes; not known everywhere.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or(0, |line| line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10)
}

#[test]
fn a_run_goes_on_beside_whatever_strangers_say() {
    let before = peak_memory();
    beside_a_run(|rig| {
        let mut runner = TestRunner::new(ProptestConfig { cases: 400, ..ProptestConfig::default() });
        runner
            .run(&visits(), |said| {
                visit(&rig.run, said);
                Ok(())
            })
            .unwrap();
    });
    let growth = peak_memory() - before;
    assert!(growth < MOST_GROWTH, "{} MiB more", growth >> 20);
}
