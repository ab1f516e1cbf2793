//! A peer that says what a test wants it to say.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use daisy_core::ids::WorkerId;
use daisy_core::run::Run;
use daisy_core::wire::{
    FrameBuffer, Grant, MAX_FRAME, PROTOCOL_VERSION, Report, Role, ServerMessage, Transcript, Welcome,
    WorkerMessage, append_frame,
};

/// A connection without a will of its own.
pub struct Peer {
    pub stream: TcpStream,
    frames: FrameBuffer,
}

impl Peer {
    pub fn connect(run: &Run) -> Self {
        Self::over(TcpStream::connect(&run.addresses()[0]).unwrap())
    }

    pub fn over(stream: TcpStream) -> Self {
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Self { stream, frames: FrameBuffer::new(MAX_FRAME) }
    }

    pub fn send(&mut self, message: &WorkerMessage) {
        let mut frame = Vec::new();
        append_frame(&mut frame, |body| message.pack(body)).unwrap();
        self.stream.write_all(&frame).unwrap();
    }

    /// The next message, or nothing at the end of the stream.
    pub fn receive(&mut self) -> Option<ServerMessage> {
        loop {
            if let Some(body) = self.frames.next_frame().unwrap() {
                return Some(ServerMessage::unpack(body).unwrap());
            }
            match self.stream.read(self.frames.room()) {
                Ok(0) => return None,
                Ok(count) => self.frames.filled(count),
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return None,
                Err(error) => panic!("no answer: {error}"),
            }
        }
    }

    /// Everything up to the end of the stream, which must come within 20 s.
    pub fn receive_all(&mut self) -> Vec<ServerMessage> {
        std::iter::from_fn(|| self.receive()).collect()
    }

    /// Waits for the end of the stream, whatever comes before it.
    pub fn drain_bytes(&mut self) {
        let mut bytes = [0; 4096];
        loop {
            match self.stream.read(&mut bytes) {
                Ok(0) => return,
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return,
                Err(error) => panic!("the stream does not end: {error}"),
            }
        }
    }

    /// The handshake up to the server's proof.
    pub fn shake_hands(&mut self, run: &Run, worker: Option<WorkerId>) -> Vec<u8> {
        let worker_nonce = [1; 32];
        self.send(&WorkerMessage::Hello { version: PROTOCOL_VERSION, nonce: worker_nonce });
        let Some(ServerMessage::Challenge { nonce: server_nonce, .. }) = self.receive() else { panic!() };
        let transcript = Transcript { worker_nonce, server_nonce, worker };
        let proof = transcript.prove(run.token(), Role::Worker);
        self.send(&WorkerMessage::Proof { worker, proof });
        let Some(ServerMessage::Proof(answer)) = self.receive() else { panic!() };
        transcript.verify(run.token(), Role::Server, &answer).unwrap();
        proof.to_vec()
    }

    pub fn register(&mut self, task: &str, incarnation: u8, capacity: u32, held: Vec<Grant>) {
        let (task, incarnation) = (task.to_owned(), [incarnation; 16]);
        self.send(&WorkerMessage::Register { task, incarnation, capacity, held });
    }

    /// A registered peer that takes blocks.
    pub fn join(run: &Run, task: &str, worker: Option<WorkerId>) -> (Self, Welcome) {
        Self::join_with(run, task, worker, 4)
    }

    /// A registered peer that has not asked for blocks.
    pub fn join_silent(run: &Run, task: &str, worker: Option<WorkerId>) -> (Self, Welcome) {
        Self::join_with(run, task, worker, 0)
    }

    fn join_with(run: &Run, task: &str, worker: Option<WorkerId>, capacity: u32) -> (Self, Welcome) {
        let mut peer = Self::connect(run);
        peer.shake_hands(run, worker);
        peer.register(task, 1, capacity, Vec::new());
        match peer.receive() {
            Some(ServerMessage::Welcome { welcome, .. }) => (peer, *welcome),
            other => panic!("not welcome: {other:?}"),
        }
    }

    /// The next grants; `None` if it is dismissed.
    pub fn next_grants(&mut self) -> Option<Vec<Grant>> {
        loop {
            match self.receive()? {
                ServerMessage::Grants { grants, .. } => return Some(grants),
                ServerMessage::Dismiss => return None,
                _ => {}
            }
        }
    }

    pub fn report(&mut self, grants: &[Grant]) {
        self.send(&WorkerMessage::Reports(grants.iter().copied().map(success).collect()));
    }
}

pub fn success(grant: Grant) -> Report {
    Report {
        grant,
        outcome: daisy_core::scheduler::Outcome::Succeeded,
        duration: Duration::from_millis(1),
        measurement: None,
    }
}
