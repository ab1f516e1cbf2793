//! Peers that say too much, or take too long to say it.
#![allow(missing_docs, clippy::unwrap_used)]

mod rig;

use std::io::Write;
use std::time::{Duration, Instant};

use daisy_core::run::Note;
use daisy_core::wire::{
    MAX_FRAME, MAX_FRAME_UNPROVEN, PROTOCOL_VERSION, ServerMessage, WorkerMessage, append_frame,
};
use rig::beside::beside_a_run;
use rig::peer::Peer;
use rig::{Rig, chain, nothing, task, workers};

fn header(length: usize) -> [u8; 4] {
    (length as u32).to_be_bytes()
}

#[test]
fn a_hello_that_drips_in_is_cut_off_in_five_seconds() {
    let mut hello = Vec::new();
    append_frame(&mut hello, |body| {
        WorkerMessage::Hello { version: PROTOCOL_VERSION, nonce: [1; 32] }.pack(body);
    })
    .unwrap();
    let notes = beside_a_run(|rig| {
        let began = Instant::now();
        let mut peer = Peer::connect(&rig.run);
        let mut stream = peer.stream.try_clone().unwrap();
        // A byte every fifth of a second: each is progress, and all would take more than nine seconds.
        let drip = std::thread::spawn(move || {
            hello.iter().all(|byte| {
                std::thread::park_timeout(Duration::from_millis(200));
                stream.write_all(&[*byte]).is_ok()
            })
        });
        let answers = peer.receive_all();
        assert!(matches!(answers[..], [] | [ServerMessage::Refused(_)]), "{answers:?}");
        assert!(began.elapsed() > Duration::from_secs(4));
        drop(peer);
        assert!(!drip.join().unwrap(), "all of it was taken");
    });
    let [Note::PeerRefused { reason, .. }] = &notes[..] else { panic!("{notes:?}") };
    assert!(reason.contains("too long"), "{reason}");
}

#[test]
fn long_frames_are_refused_at_their_header_before_and_after_the_proof() {
    let mut rig = Rig::start(chain(vec![task("a", 30, 0, workers(1))]), nothing());
    rig.launch = Some(Box::new(|_, _| {}));
    rig.serve_until(|rig| rig.launched.len() == 1);

    let mut stranger = Peer::connect(&rig.run);
    stranger.stream.write_all(&header(MAX_FRAME_UNPROVEN + 1)).unwrap();
    let answers = stranger.receive_all();
    assert!(matches!(&answers[..], [ServerMessage::Refused(said)] if said.text.contains("65537 bytes")));

    // Who has proven itself may say more, but not without end.
    let mut proven = Peer::connect(&rig.run);
    proven.shake_hands(&rig.run, None);
    proven.stream.write_all(&header(MAX_FRAME + 1)).unwrap();
    let answers = proven.receive_all();
    assert!(matches!(&answers[..], [ServerMessage::Refused(said)] if said.text.contains("16777217 bytes")));

    let (mut member, welcome) = Peer::join(&rig.run, "a", None);
    let held = member.next_grants().unwrap();
    member.stream.write_all(&header(MAX_FRAME + 1)).unwrap();
    member.drain_bytes();
    // It has lost its connection, and nothing else.
    let mut back = Peer::connect(&rig.run);
    back.shake_hands(&rig.run, Some(welcome.worker));
    back.register("a", 1, 4, held.clone());
    assert!(matches!(back.receive(), Some(ServerMessage::Welcome { .. })));
    back.report(&held);
    while let Some(grants) = back.next_grants() {
        back.report(&grants);
    }
    let (end, _) = rig.finish();
    let counters = end.outcome.tasks[0].state.counters();
    assert_eq!((counters.completed, counters.failed_attempts, counters.refused_reports), (30, 0, 0));
}
