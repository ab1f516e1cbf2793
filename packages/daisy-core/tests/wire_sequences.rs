//! Whatever a worker with the token says, in whatever order: every block is done once, and counted once.
#![allow(missing_docs, clippy::unwrap_used)]

mod rig;

use std::io::{ErrorKind, Read, Write};
use std::time::Duration;

use daisy_core::ids::WorkerId;
use daisy_core::run::{Run, Told};
use daisy_core::wire::{
    FrameBuffer, Grant, MAX_FRAME, PROTOCOL_VERSION, ServerMessage, WorkerMessage, append_frame,
};
use proptest::collection::vec;
use proptest::prelude::*;
use rig::peer::{Peer, success};
use rig::{Rig, chain, exit, nothing, task, workers};

const BLOCKS: u64 = 40;

/// Something that a worker may do, sensible or not.
#[derive(Clone, Debug)]
enum Act {
    Ask(u32),
    Report { which: usize, times: usize, later: u32 },
    ReportAny(u64, u32),
    Return(Vec<u64>),
    ReturnHeld,
    Say(WorkerMessage),
    Bytes(Vec<u8>),
    ComeBack { claims: bool, incarnation: u8, capacity: u32 },
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let message = prop_oneof![
        Just(WorkerMessage::Draining),
        Just(WorkerMessage::Heartbeat),
        Just(WorkerMessage::Goodbye),
        Just(WorkerMessage::Hello { version: PROTOCOL_VERSION, nonce: [3; 32] }),
        Just(WorkerMessage::Proof { worker: None, proof: [3; 32] }),
        Just(WorkerMessage::Reports(Vec::new())),
    ];
    let act = prop_oneof![
        3 => any::<u32>().prop_map(Act::Ask),
        6 => (0usize..4, 1usize..3, 0u32..2).prop_map(|(which, times, later)| Act::Report { which, times, later }),
        2 => (0..BLOCKS + 2, 0u32..4).prop_map(|(index, attempt)| Act::ReportAny(index, attempt)),
        1 => vec(0..BLOCKS + 2, 0..4).prop_map(Act::Return),
        1 => Just(Act::ReturnHeld),
        1 => message.prop_map(Act::Say),
        1 => vec(any::<u8>(), 1..40).prop_map(Act::Bytes),
        2 => (any::<bool>(), 1u8..3, 0u32..3)
            .prop_map(|(claims, incarnation, capacity)| Act::ComeBack { claims, incarnation, capacity }),
    ];
    vec(act, 1..14)
}

/// A worker without sense, and what it was given and has not given back.
struct Rogue<'a> {
    run: &'a Run,
    worker: WorkerId,
    peer: Peer,
    frames: FrameBuffer,
    held: Vec<Grant>,
}

impl<'a> Rogue<'a> {
    fn new(run: &'a Run, worker: WorkerId) -> Self {
        let (peer, _) = Peer::join_silent(run, "a", Some(worker));
        Self { run, worker, peer, frames: FrameBuffer::new(MAX_FRAME), held: Vec::new() }
    }

    fn act(&mut self, act: Act) {
        match act {
            Act::Ask(capacity) => self.say(&WorkerMessage::Ready { capacity }),
            Act::Report { which, times, later } => {
                if let Some(grant) = self.held.get(which).copied() {
                    let grant = Grant { attempt: grant.attempt + later, ..grant };
                    self.say(&WorkerMessage::Reports(vec![success(grant); times]));
                    self.held.remove(which);
                }
            }
            Act::ReportAny(index, attempt) => {
                self.say(&WorkerMessage::Reports(vec![success(Grant { index, attempt })]));
            }
            Act::Return(indices) => self.say(&WorkerMessage::Return(indices)),
            Act::ReturnHeld => {
                let indices = self.held.drain(..).map(|grant| grant.index).collect();
                self.say(&WorkerMessage::Return(indices));
            }
            Act::Say(message) => self.say(&message),
            // What the server makes of it is its own affair.
            Act::Bytes(bytes) => drop(self.peer.stream.write_all(&bytes)),
            Act::ComeBack { claims, incarnation, capacity } => self.come_back(claims, incarnation, capacity),
        }
        self.listen();
    }

    /// Says something to a server that may have hung up.
    fn say(&mut self, message: &WorkerMessage) {
        let mut frame = Vec::new();
        append_frame(&mut frame, |body| message.pack(body)).unwrap();
        self.peer.stream.write_all(&frame).ok();
    }

    fn come_back(&mut self, claims: bool, incarnation: u8, capacity: u32) {
        let held = if claims { self.held.clone() } else { Vec::new() };
        self.held.clone_from(&held);
        self.peer = Peer::connect(self.run);
        self.peer.shake_hands(self.run, Some(self.worker));
        self.peer.register("a", incarnation, capacity, held);
        self.frames = FrameBuffer::new(MAX_FRAME);
    }

    /// Takes what is there.
    fn listen(&mut self) {
        self.peer.stream.set_read_timeout(Some(Duration::from_millis(10))).unwrap();
        loop {
            while let Some(body) = self.frames.next_frame().unwrap() {
                if let ServerMessage::Grants { grants, .. } = ServerMessage::unpack(body).unwrap() {
                    self.held.extend(grants);
                }
            }
            match self.peer.stream.read(self.frames.room()) {
                Ok(count @ 1..) => self.frames.filled(count),
                Ok(_) => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn every_block_is_done_and_counted_once(acts in acts()) {
        let mut rig = Rig::start(chain(vec![task("a", BLOCKS as i64, 0, workers(1))]), nothing());
        rig.launch = Some(Box::new(|_, _| {}));
        rig.serve_until(|rig| rig.launched.len() == 1);
        let worker = rig.launched[0].1;
        let mut rogue = Rogue::new(&rig.run, worker);
        for act in acts {
            rogue.act(act);
        }
        drop(rogue);
        rig.run.tell(Told::WorkerExited { worker, exit: exit(false, "SIGKILL") });
        // Those that follow are honest.
        rig.launch = None;
        let (end, _) = rig.finish();
        let counters = end.outcome.tasks[0].state.counters();
        prop_assert_eq!((counters.completed, counters.failed), (BLOCKS, 0));
        prop_assert_eq!(counters.returns, BLOCKS);
        // Only its end can have cost something, and that no more than the block that it was working on.
        prop_assert!(counters.failed_attempts <= 1 && counters.worker_deaths <= 1, "{:?}", counters);
    }
}
