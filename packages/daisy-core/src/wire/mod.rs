//! How driver and workers talk: frames, messages, the handshake, and the worker's side of a connection.
//!
//! `frame` knows bytes and no meaning, `message` meaning and no sockets, `handshake` proofs and no sockets; `client`
//! brings them together in a worker. The server's side is in [`crate::run`]. The protocol is written down in
//! `docs/design/PROTOCOL.md`.

mod client;
mod frame;
mod handshake;
mod message;
mod pack;
mod stream;
mod tls;
mod token;

#[cfg(unix)]
pub use client::Terms;
pub use client::{Acquired, WorkerClient, WorkerConfig, check_address};
pub use frame::{FrameBuffer, HEADER, MAX_FRAME, MAX_FRAME_UNPROVEN, append_frame};
pub use handshake::{MAGIC, Nonce, PROTOCOL_VERSION, Proof, Role, Transcript, check_version, new_nonce};
pub use message::{Grant, Refused, Report, ServerMessage, Welcome, WorkerMessage};
pub use tls::Fingerprint;
pub(crate) use tls::{TLS_HANDSHAKE, new_server};
pub use token::Token;
