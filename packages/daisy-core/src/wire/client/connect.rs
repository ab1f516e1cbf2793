//! From a list of addresses to a registered connection.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::WorkerConfig;
use crate::error::{Error, ErrorKind, Result};
use crate::wire::frame::{FrameBuffer, MAX_FRAME, append_frame};
use crate::wire::handshake::{PROTOCOL_VERSION, Role, Transcript, check_version, new_nonce};
use crate::wire::message::{Grant, ServerMessage, Welcome, WorkerMessage};
use crate::wire::stream::Stream;

/// Time for a TCP connection.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);
/// Time for the handshake, registration included.
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(5);
/// Time that a write may wait for a server that does not read.
const WRITE_LIMIT: Duration = Duration::from_secs(20);

/// A connection on which both sides have proven the token.
#[derive(Debug)]
pub(super) struct Proven {
    stream: Stream,
    frames: FrameBuffer,
    deadline: Instant,
}

/// A connection over which blocks can come.
pub(super) struct Registered {
    pub(super) stream: Stream,
    pub(super) frames: FrameBuffer,
    pub(super) welcome: Welcome,
    pub(super) reports_seen: u64,
}

/// Attempts to get through a handshake that the server broke off, as one does that has too many at once.
const ATTEMPTS: u32 = 6;
/// Pause after the first attempt; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// Reaches the driver for the first time.
pub(super) fn reach_first(config: &WorkerConfig) -> Result<Proven> {
    let mut attempt = 0;
    loop {
        match reach(config) {
            Err(error) if error.kind() == ErrorKind::ConnectionLost && attempt < ATTEMPTS => {
                thread::sleep(FIRST_PAUSE * 2_u32.pow(attempt));
                attempt += 1;
            }
            other => return other,
        }
    }
}

/// Tries every address at once and keeps the first that completes the handshake.
pub(super) fn reach(config: &WorkerConfig) -> Result<Proven> {
    if let [address] = config.addresses.as_slice() {
        return reach_one(address, config).map_err(|error| error.with_context("address", address));
    }
    let (sender, receiver) = mpsc::channel();
    for address in &config.addresses {
        let (address, config, sender) = (address.clone(), config.clone(), sender.clone());
        thread::Builder::new().name("daisy-connect".into()).spawn(move || {
            let result = reach_one(&address, &config);
            // Nobody listens any more once another address was faster: this connection is closed.
            sender.send((address, result)).ok();
        })?;
    }
    drop(sender);
    let mut failures = Vec::new();
    while let Ok((address, result)) = receiver.recv() {
        match result {
            Ok(proven) => return Ok(proven),
            Err(error) => failures.push((address, error)),
        }
    }
    Err(summarize(failures))
}

/// One error for all addresses: a server that answered and refused says more than one that did not answer.
fn summarize(failures: Vec<(String, Error)>) -> Error {
    let tried: Vec<String> = failures.iter().map(|(address, error)| format!("{address}: {error}")).collect();
    let answered =
        failures.into_iter().map(|(_, error)| error).find(|error| error.kind() != ErrorKind::Address);
    let mut error = answered.unwrap_or_else(|| {
        Error::new(ErrorKind::Address, "no address of the driver answers")
            .with_context("expected", "an address of a driver that runs, reachable from this machine")
    });
    if tried.len() != 1 {
        error = error.with_context("tried", format!("[{}]", tried.join("; ")));
    }
    error
}

fn reach_one(address: &str, config: &WorkerConfig) -> Result<Proven> {
    let mut stream = connect(address)?;
    let deadline = Instant::now() + HANDSHAKE_LIMIT;
    stream.limit_writes(WRITE_LIMIT)?;
    if let Some(certificate) = config.token.certificate() {
        stream.secure(certificate, deadline)?;
    }
    let mut proven = Proven { stream, frames: FrameBuffer::new(MAX_FRAME), deadline };
    let worker_nonce = new_nonce()?;
    proven.send(&WorkerMessage::Hello { version: PROTOCOL_VERSION, nonce: worker_nonce })?;
    let server_nonce = match proven.receive()? {
        ServerMessage::Challenge { version, nonce } => {
            check_version(version)?;
            nonce
        }
        other => return Err(unexpected(other, "a challenge")),
    };
    let transcript = Transcript { worker_nonce, server_nonce, worker: config.worker };
    let proof = transcript.prove(&config.token, Role::Worker);
    proven.send(&WorkerMessage::Proof { worker: config.worker, proof })?;
    match proven.receive()? {
        ServerMessage::Proof(proof) => transcript.verify(&config.token, Role::Server, &proof)?,
        other => return Err(unexpected(other, "the server's proof")),
    }
    Ok(proven)
}

fn connect(address: &str) -> Result<Stream> {
    let no_answer =
        |error: io::Error| Error::new(ErrorKind::Address, "the driver cannot be reached").with_source(error);
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for resolved in address.to_socket_addrs().map_err(no_answer)? {
        match Stream::connect(&resolved, CONNECT_LIMIT) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(no_answer(last))
}

/// Whether every address is one of this machine alone and nothing listens there: the driver has ended.
pub(super) fn has_nobody_listening(addresses: &[String]) -> bool {
    addresses.iter().all(|address| {
        let Ok(resolved) = address.parse::<SocketAddr>() else { return false };
        resolved.ip().is_loopback()
            && Stream::connect(&resolved, CONNECT_LIMIT)
                .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
    })
}

fn unexpected(got: ServerMessage, expected: &'static str) -> Error {
    match got {
        ServerMessage::Refused(refused) => refused.into(),
        _ => Error::new(ErrorKind::Protocol, "the server answers out of order")
            .with_context("expected", expected),
    }
}

impl Proven {
    /// Names the connection; no blocks come before they are asked for. `held` is empty but after a lost connection.
    pub(super) fn register(
        mut self,
        config: &WorkerConfig,
        incarnation: [u8; 16],
        held: Vec<Grant>,
    ) -> Result<Registered> {
        let task = config.task.clone();
        self.send(&WorkerMessage::Register { task, incarnation, capacity: 0, held })?;
        match self.receive()? {
            ServerMessage::Welcome { reports_seen, welcome } => {
                self.stream.limit_reads(None)?;
                Ok(Registered { stream: self.stream, frames: self.frames, welcome: *welcome, reports_seen })
            }
            other => Err(unexpected(other, "a welcome")),
        }
    }

    fn send(&self, message: &WorkerMessage) -> Result<()> {
        let mut frame = Vec::new();
        append_frame(&mut frame, |body| message.pack(body))?;
        self.stream.write_all(&frame).map_err(lost)
    }

    fn receive(&mut self) -> Result<ServerMessage> {
        loop {
            if let Some(body) = self.frames.next_frame()? {
                return ServerMessage::unpack(body);
            }
            let left = self.deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(slow());
            }
            self.stream.limit_reads(Some(left))?;
            match self.stream.read(self.frames.room()) {
                Ok(0) => return self.frames.end_of_stream(),
                Ok(count) => self.frames.filled(count),
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                    return Err(slow());
                }
                Err(error) => return Err(lost(error)),
            }
        }
    }
}

fn slow() -> Error {
    Error::new(ErrorKind::Address, "the server took too long for the handshake")
        .with_context("expected", format!("an answer within {} s", HANDSHAKE_LIMIT.as_secs()))
}

fn lost(error: io::Error) -> Error {
    Error::new(ErrorKind::ConnectionLost, "the connection broke during the handshake").with_source(error)
}
