//! The test vectors of `docs/design/PROTOCOL.md` are what this crate says and understands.
#![allow(missing_docs, clippy::unwrap_used)]

use std::time::Duration;

use daisy_core::geometry::Roi;
use daisy_core::ids::WorkerId;
use daisy_core::plan::{BlockLayout, Fit};
use daisy_core::scheduler::Outcome;
use daisy_core::wire::{
    Grant, MAX_FRAME, MAX_FRAME_UNPROVEN, PROTOCOL_VERSION, Refused, Report, Role, ServerMessage, Token,
    Transcript, Welcome, WorkerMessage, append_frame,
};
use daisy_core::{ErrorKind, Measurement};
use sha2::Digest;

const DOCUMENT: &str = include_str!("../../../docs/design/PROTOCOL.md");

fn counting(from: u8) -> [u8; 32] {
    std::array::from_fn(|place| from + place as u8)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn frame(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut frame = Vec::new();
    append_frame(&mut frame, write).unwrap();
    hex(&frame)
}

fn transcript() -> Transcript {
    Transcript { worker_nonce: counting(0x20), server_nonce: counting(0x40), worker: Some(WorkerId(3)) }
}

fn from_worker() -> Vec<(&'static str, WorkerMessage)> {
    let proof = transcript().prove(&Token::from_bytes(counting(0)), Role::Worker);
    let report = |index, outcome, measurement| Report {
        grant: Grant { index, attempt: 1 },
        outcome,
        duration: Duration::from_micros(1500),
        measurement,
    };
    let failed = Outcome::Failed { error: "ValueError: no".into() };
    let measured = Measurement {
        wall_seconds: 1.5,
        cpu_seconds: 2.25,
        peak_rss_bytes: 1 << 20,
        io_read_bytes: 300,
        io_write_bytes: 70_000,
        gpu_util_pct: 0.0,
        gpu_mem_bytes: 0,
    };
    vec![
        ("hello", WorkerMessage::Hello { version: PROTOCOL_VERSION, nonce: counting(0x20) }),
        ("proof of worker 3", WorkerMessage::Proof { worker: Some(WorkerId(3)), proof }),
        (
            "register",
            WorkerMessage::Register {
                task: "extract".to_owned(),
                incarnation: std::array::from_fn(|place| 0x60 + place as u8),
                capacity: 0,
                held: Vec::new(),
            },
        ),
        (
            "register again, block 5 held",
            WorkerMessage::Register {
                task: "extract".to_owned(),
                incarnation: std::array::from_fn(|place| 0x60 + place as u8),
                capacity: 0,
                held: vec![Grant { index: 5, attempt: 1 }],
            },
        ),
        (
            "reports",
            WorkerMessage::Reports(vec![
                report(0, Outcome::Succeeded, None),
                report(300, failed, None),
                report(70_000, Outcome::Succeeded, Some(measured)),
            ]),
        ),
        ("return", WorkerMessage::Return(vec![7, 8])),
        ("draining", WorkerMessage::Draining),
        ("heartbeat", WorkerMessage::Heartbeat),
        ("goodbye", WorkerMessage::Goodbye),
        ("ready", WorkerMessage::Ready { capacity: 64 }),
    ]
}

fn from_server() -> Vec<(&'static str, ServerMessage)> {
    let proof = transcript().prove(&Token::from_bytes(counting(0)), Role::Server);
    let layout = BlockLayout::new(
        Roi::new(&[-10, 0], &[120, 90]).unwrap(),
        Roi::new(&[-10, 0], &[45, 40]).unwrap(),
        Roi::new(&[0, 0], &[25, 30]).unwrap(),
        Fit::Shrink,
    )
    .unwrap();
    let welcome = Box::new(Welcome {
        worker: WorkerId(3),
        layout,
        timeout: Some(Duration::from_secs(600)),
        measures: false,
        heartbeat: Duration::from_secs(5),
        reconnect_grace: Duration::from_secs(30),
    });
    let grants = vec![Grant { index: 0, attempt: 1 }, Grant { index: 1000, attempt: 2 }];
    let refused = Refused { kind: ErrorKind::Refused, text: "no".to_owned() };
    vec![
        ("challenge", ServerMessage::Challenge { version: PROTOCOL_VERSION, nonce: counting(0x40) }),
        ("proof of the server for worker 3", ServerMessage::Proof(proof)),
        ("welcome", ServerMessage::Welcome { reports_seen: 0, welcome }),
        ("grants", ServerMessage::Grants { reports_seen: 2, grants }),
        ("dismiss", ServerMessage::Dismiss),
        ("kill", ServerMessage::Kill { reason: "timeout".to_owned() }),
        ("heartbeat of the server", ServerMessage::Heartbeat { reports_seen: 2 }),
        ("refused", ServerMessage::Refused(refused)),
        ("report refused", ServerMessage::ReportRefused { index: 5, reason: "not_held".to_owned() }),
    ]
}

/// The vectors as the document writes them.
fn vectors() -> Vec<String> {
    let worker = from_worker().into_iter().map(|(name, message)| (name, frame(|body| message.pack(body))));
    let server = from_server().into_iter().map(|(name, message)| (name, frame(|body| message.pack(body))));
    worker.chain(server).map(|(name, frame)| format!("{name}: {frame}")).collect()
}

#[test]
fn the_vectors_are_what_is_sent() {
    let missing: Vec<String> =
        vectors().into_iter().filter(|vector| !DOCUMENT.lines().any(|line| line == vector)).collect();
    assert!(missing.is_empty(), "docs/design/PROTOCOL.md lacks:\n{}", missing.join("\n"));
}

#[test]
fn the_vectors_are_understood() {
    for (_, message) in from_worker() {
        let mut body = Vec::new();
        message.pack(&mut body);
        assert_eq!(WorkerMessage::unpack(&body).unwrap(), message);
    }
    for (_, message) in from_server() {
        let mut body = Vec::new();
        message.pack(&mut body);
        assert_eq!(ServerMessage::unpack(&body).unwrap(), message);
    }
}

#[test]
fn the_numbers_of_the_document_are_the_numbers_of_the_code() {
    let version = format!("version {PROTOCOL_VERSION} of the protocol");
    let limits = [format!("{} bytes", MAX_FRAME), format!("{} bytes", MAX_FRAME_UNPROVEN)];
    for expected in limits.iter().chain([&version]) {
        assert!(DOCUMENT.contains(expected.as_str()), "docs/design/PROTOCOL.md does not say {expected:?}");
    }
}

#[test]
fn the_token_file_of_the_document_is_what_is_written_and_read() {
    let path = std::env::temp_dir().join(format!("daisy-token-{}", std::process::id()));
    let certificate: [u8; 32] = sha2::Sha256::digest([0]).into();
    Token::from_bytes(counting(0)).with_certificate(Some(certificate)).write_file(&path).unwrap();
    let (written, read) = (std::fs::read_to_string(&path).unwrap(), Token::read_file(&path).unwrap());
    std::fs::remove_file(&path).unwrap();
    assert!(
        DOCUMENT.contains(&format!("```text\n{written}```")),
        "docs/design/PROTOCOL.md lacks:\n{written}"
    );
    assert_eq!((read.secret(), read.certificate()), (&counting(0), Some(certificate)));
}
