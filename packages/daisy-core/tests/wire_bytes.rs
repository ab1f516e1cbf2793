//! Frames, messages and proofs against every kind of byte.
#![allow(missing_docs, clippy::unwrap_used)]

use std::time::Duration;

use daisy_core::geometry::Roi;
use daisy_core::ids::WorkerId;
use daisy_core::plan::{BlockLayout, Fit};
use daisy_core::scheduler::Outcome;
use daisy_core::wire::{
    FrameBuffer, Grant, HEADER, Refused, Report, Role, ServerMessage, Token, Transcript, Welcome,
    WorkerMessage, append_frame,
};
use daisy_core::{ErrorKind, Measurement};
use proptest::collection::vec;
use proptest::prelude::*;

fn grants() -> impl Strategy<Value = Vec<Grant>> {
    vec((any::<u64>(), any::<u32>()).prop_map(|(index, attempt)| Grant { index, attempt }), 0..20)
}

fn reports() -> impl Strategy<Value = Vec<Report>> {
    let measurement =
        (any::<u32>(), any::<u64>(), any::<u64>()).prop_map(|(seconds, bytes, more)| Measurement {
            wall_seconds: f64::from(seconds) / 7.0,
            cpu_seconds: f64::from(seconds) / 3.0,
            peak_rss_bytes: bytes,
            io_read_bytes: more,
            io_write_bytes: bytes ^ more,
            gpu_util_pct: 50.0,
            gpu_mem_bytes: 1,
        });
    let outcome = prop_oneof![
        Just(Outcome::Succeeded),
        ".{0,30}".prop_map(|error| Outcome::Failed { error: error.into() })
    ];
    let grant = (any::<u64>(), any::<u32>()).prop_map(|(index, attempt)| Grant { index, attempt });
    let report = (grant, outcome, any::<u64>(), proptest::option::of(measurement)).prop_map(
        |(grant, outcome, nanos, measurement)| Report {
            grant,
            outcome,
            duration: Duration::from_nanos(nanos),
            measurement,
        },
    );
    vec(report, 0..20)
}

fn from_worker() -> impl Strategy<Value = WorkerMessage> {
    let id = proptest::option::of(any::<u64>().prop_map(WorkerId));
    prop_oneof![
        (any::<u32>(), any::<[u8; 32]>())
            .prop_map(|(version, nonce)| WorkerMessage::Hello { version, nonce }),
        (id, any::<[u8; 32]>()).prop_map(|(worker, proof)| WorkerMessage::Proof { worker, proof }),
        (".{0,20}", any::<[u8; 16]>(), any::<u32>(), grants()).prop_map(
            |(task, incarnation, capacity, held)| WorkerMessage::Register {
                task,
                incarnation,
                capacity,
                held
            }
        ),
        reports().prop_map(WorkerMessage::Reports),
        vec(any::<u64>(), 0..20).prop_map(WorkerMessage::Return),
        Just(WorkerMessage::Draining),
        Just(WorkerMessage::Heartbeat),
        Just(WorkerMessage::Goodbye),
        any::<u32>().prop_map(|capacity| WorkerMessage::Ready { capacity }),
    ]
}

/// Total begin, total shape, block shape, lower and upper context.
type Axis = (i64, i64, i64, i64, i64);

fn welcome() -> impl Strategy<Value = Welcome> {
    let axis = (-1000i64..1000, 1i64..1000, 1i64..50, 0i64..20, 0i64..20);
    let fit = prop_oneof![Just(Fit::Valid), Just(Fit::Overhang), Just(Fit::Shrink)];
    let layout = (vec(axis, 1..=8), fit).prop_map(|(axes, fit)| {
        let column = |pick: &dyn Fn(&Axis) -> i64| axes.iter().map(pick).collect::<Vec<_>>();
        let total = Roi::new(&column(&|axis| axis.0), &column(&|axis| axis.1)).unwrap();
        let read = Roi::new(&column(&|axis| -axis.3), &column(&|axis| axis.2 + axis.3 + axis.4)).unwrap();
        let write = Roi::new(&column(&|_| 0), &column(&|axis| axis.2)).unwrap();
        BlockLayout::new(total, read, write, fit)
    });
    let layout = layout.prop_filter_map("ids that fit", Result::ok);
    (any::<u64>(), layout, proptest::option::of(1u64..1 << 40), any::<bool>()).prop_map(
        |(worker, layout, timeout, measures)| Welcome {
            worker: WorkerId(worker),
            layout,
            timeout: timeout.map(Duration::from_millis),
            measures,
            heartbeat: Duration::from_secs(5),
            reconnect_grace: Duration::from_secs(30),
        },
    )
}

fn from_server() -> impl Strategy<Value = ServerMessage> {
    prop_oneof![
        (any::<u32>(), any::<[u8; 32]>())
            .prop_map(|(version, nonce)| ServerMessage::Challenge { version, nonce }),
        any::<[u8; 32]>().prop_map(ServerMessage::Proof),
        (any::<u64>(), welcome()).prop_map(|(reports_seen, welcome)| ServerMessage::Welcome {
            reports_seen,
            welcome: Box::new(welcome)
        }),
        (any::<u64>(), grants())
            .prop_map(|(reports_seen, grants)| ServerMessage::Grants { reports_seen, grants }),
        Just(ServerMessage::Dismiss),
        ".{0,20}".prop_map(|reason| ServerMessage::Kill { reason }),
        any::<u64>().prop_map(|reports_seen| ServerMessage::Heartbeat { reports_seen }),
        ".{0,20}".prop_map(|text| ServerMessage::Refused(Refused { kind: ErrorKind::Protocol, text })),
        (any::<u64>(), ".{0,20}").prop_map(|(index, reason)| ServerMessage::ReportRefused { index, reason }),
    ]
}

/// Feeds bytes in pieces of these sizes; the bodies of all frames that came out.
fn cut(bytes: &[u8], pieces: &[usize], limit: usize) -> daisy_core::Result<(Vec<Vec<u8>>, bool)> {
    let mut buffer = FrameBuffer::new(limit);
    let (mut rest, mut bodies, mut turn) = (bytes, Vec::new(), 0);
    while !rest.is_empty() {
        let room = buffer.room();
        let count = pieces[turn % pieces.len()].clamp(1, rest.len()).min(room.len());
        room[..count].copy_from_slice(&rest[..count]);
        buffer.filled(count);
        (rest, turn) = (&rest[count..], turn + 1);
        while let Some(body) = buffer.next_frame()? {
            bodies.push(body.to_vec());
        }
    }
    Ok((bodies, buffer.is_between_frames()))
}

proptest! {
    #[test]
    fn what_workers_say_is_understood(message in from_worker()) {
        let mut body = Vec::new();
        message.pack(&mut body);
        prop_assert_eq!(WorkerMessage::unpack(&body).unwrap(), message);
    }

    #[test]
    fn what_the_server_says_is_understood(message in from_server()) {
        let mut body = Vec::new();
        message.pack(&mut body);
        prop_assert_eq!(ServerMessage::unpack(&body).unwrap(), message);
    }

    #[test]
    fn cut_off_messages_are_errors(from_worker in from_worker(), from_server in from_server(), at in 0.0f64..1.0) {
        let (mut one, mut other) = (Vec::new(), Vec::new());
        from_worker.pack(&mut one);
        from_server.pack(&mut other);
        let part = |bytes: &[u8]| (bytes.len() as f64 * at) as usize;
        prop_assert!(WorkerMessage::unpack(&one[..part(&one)]).is_err());
        prop_assert!(ServerMessage::unpack(&other[..part(&other)]).is_err());
        one.push(0xc0);
        prop_assert!(WorkerMessage::unpack(&one).is_err());
    }

    #[test]
    fn damaged_messages_never_panic(message in from_worker(), server in from_server(),
                                    damage in vec((any::<u16>(), any::<u8>()), 1..6)) {
        let (mut one, mut other) = (Vec::new(), Vec::new());
        message.pack(&mut one);
        server.pack(&mut other);
        for bytes in [&mut one, &mut other] {
            for (place, value) in &damage {
                let place = usize::from(*place) % bytes.len();
                bytes[place] = *value;
            }
        }
        drop((WorkerMessage::unpack(&one), ServerMessage::unpack(&other)));
    }

    #[test]
    fn garbage_never_panics_and_is_never_a_message_of_two_kinds(bytes in vec(any::<u8>(), 0..200)) {
        let both = (WorkerMessage::unpack(&bytes), ServerMessage::unpack(&bytes));
        prop_assert!(!matches!(both, (Ok(_), Ok(_))));
    }

    #[test]
    fn frames_come_out_as_they_went_in(bodies in vec(vec(any::<u8>(), 1..5000), 1..8),
                                       pieces in vec(1usize..9000, 1..5)) {
        let mut bytes = Vec::new();
        for body in &bodies {
            append_frame(&mut bytes, |out| out.extend_from_slice(body)).unwrap();
        }
        let (out, is_whole) = cut(&bytes, &pieces, 5000).unwrap();
        prop_assert_eq!(out, bodies);
        prop_assert!(is_whole);
        let (_, is_whole) = cut(&bytes[..bytes.len() - 1], &pieces, 5000).unwrap();
        prop_assert!(!is_whole);
    }

    #[test]
    fn frames_of_impossible_length_are_refused_at_their_header(length in any::<u32>(), limit in 1usize..1 << 24) {
        let mut buffer = FrameBuffer::new(limit);
        buffer.room()[..HEADER].copy_from_slice(&length.to_be_bytes());
        buffer.filled(HEADER);
        let is_possible = (1..=limit).contains(&(length as usize));
        prop_assert_eq!(buffer.next_frame().is_ok(), is_possible);
        prop_assert!(buffer.room().len() <= 1 << 14, "memory is taken on a stranger's word");
    }

    #[test]
    fn a_proof_holds_for_what_it_was_made_for_and_nothing_else(
        token in any::<[u8; 32]>(), worker_nonce in any::<[u8; 32]>(), server_nonce in any::<[u8; 32]>(),
        worker in proptest::option::of(0u64..5), bit in 0usize..256,
    ) {
        let secret = Token::from_bytes(token);
        let said = Transcript { worker_nonce, server_nonce, worker: worker.map(WorkerId) };
        let proof = said.prove(&secret, Role::Worker);
        prop_assert!(said.verify(&secret, Role::Worker, &proof).is_ok());
        prop_assert!(said.verify(&secret, Role::Server, &proof).is_err());
        let flipped = |mut bytes: [u8; 32]| { bytes[bit / 8] ^= 1 << (bit % 8); bytes };
        let others = [
            Transcript { worker_nonce: flipped(worker_nonce), ..said },
            Transcript { server_nonce: flipped(server_nonce), ..said },
            Transcript { worker: Some(WorkerId(worker.unwrap_or(9) + 1)), ..said },
        ];
        for other in others {
            prop_assert!(other.verify(&secret, Role::Worker, &proof).is_err());
        }
        prop_assert!(said.verify(&secret, Role::Worker, &flipped(proof)).is_err());
        prop_assert!(said.verify(&Token::from_bytes(flipped(token)), Role::Worker, &proof).is_err());
    }
}

#[test]
fn an_array_of_more_elements_than_anybody_needs_is_refused() {
    let reports = |count: u32| {
        let mut body = vec![0x92, 4, 0xdd];
        body.extend(count.to_be_bytes());
        // Four bytes each here, and more than a hundred in memory.
        body.extend([0x93, 1, 1, 1].repeat(count as usize));
        WorkerMessage::unpack(&body)
    };
    assert!(matches!(reports(1 << 16), Ok(WorkerMessage::Reports(reports)) if reports.len() == 1 << 16));
    let error = reports((1 << 16) + 1).unwrap_err().to_string();
    assert!(error.contains("at most 65536 elements"), "{error}");
}
