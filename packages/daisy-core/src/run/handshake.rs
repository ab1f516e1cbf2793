//! The server's half of the handshake.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::arriving::Registration;
use super::stream::Stream;
use crate::error::{Error, ErrorKind, Result};
use crate::wire::{
    FrameBuffer, MAX_FRAME, MAX_FRAME_UNPROVEN, PROTOCOL_VERSION, Refused, Role, ServerMessage, Token,
    Transcript, WorkerMessage, append_frame, check_version, new_nonce,
};

/// A stream with what was read of it beyond the last message.
pub(super) struct Framed {
    pub(super) stream: Stream,
    pub(super) frames: FrameBuffer,
}

impl Framed {
    /// A stream of which nothing is known.
    pub(super) const fn new(stream: Stream) -> Self {
        Self { stream, frames: FrameBuffer::new(MAX_FRAME_UNPROVEN) }
    }

    /// Has both sides prove that they know the token, and hears who the worker says it is.
    pub(super) async fn shake_hands(&mut self, token: &Token) -> Result<Registration> {
        let WorkerMessage::Hello { version, nonce: worker_nonce } = self.receive().await? else {
            return Err(out_of_order("a hello"));
        };
        check_version(version)?;
        let server_nonce = new_nonce()?;
        self.send(&ServerMessage::Challenge { version: PROTOCOL_VERSION, nonce: server_nonce }).await?;
        let WorkerMessage::Proof { worker, proof } = self.receive().await? else {
            return Err(out_of_order("a proof"));
        };
        let transcript = Transcript { worker_nonce, server_nonce, worker };
        transcript.verify(token, Role::Worker, &proof)?;
        self.frames.set_limit(MAX_FRAME);
        self.send(&ServerMessage::Proof(transcript.prove(token, Role::Server))).await?;
        let WorkerMessage::Register { task, incarnation, capacity, held } = self.receive().await? else {
            return Err(out_of_order("a registration"));
        };
        Ok(Registration { worker, task, incarnation, capacity, held })
    }

    /// Tells a peer why it is turned away.
    pub(super) async fn refuse(&mut self, error: &Error) {
        // A peer that does not listen has no use for the reason.
        if self.send(&ServerMessage::Refused(Refused::from(error))).await.is_ok() {
            self.stream.shutdown().await.ok();
        }
    }

    pub(super) async fn send(&mut self, message: &ServerMessage) -> Result<()> {
        let mut frame = Vec::new();
        append_frame(&mut frame, |body| message.pack(body))?;
        self.stream.write_all(&frame).await?;
        Ok(self.stream.flush().await?)
    }

    async fn receive(&mut self) -> Result<WorkerMessage> {
        loop {
            if let Some(body) = self.frames.next_frame()? {
                return WorkerMessage::unpack(body);
            }
            match self.stream.read(self.frames.room()).await? {
                0 => return self.frames.end_of_stream(),
                count => self.frames.filled(count),
            }
        }
    }
}

fn out_of_order(expected: &'static str) -> Error {
    Error::new(ErrorKind::Protocol, "the worker speaks out of order").with_context("expected", expected)
}
