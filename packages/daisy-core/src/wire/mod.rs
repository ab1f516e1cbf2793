//! How driver and workers talk: frames, messages, the handshake, and the worker's side of a connection.
//!
//! `frame` knows bytes and no meaning, `message` meaning and no sockets, `handshake` proofs and no sockets; `client`
//! brings them together in a worker. The server's side is in [`crate::run`]. The protocol is written down in
//! `docs/design/PROTOCOL.md`.

mod client;
mod token;

pub use client::{Acquired, Grant, Welcome, WorkerClient, WorkerConfig};
pub use token::Token;
