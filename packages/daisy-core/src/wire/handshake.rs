//! The handshake: both sides prove that they know the token, without saying it.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::token::{Token, fill_random};
use crate::error::{Error, ErrorKind, Result};
use crate::ids::WorkerId;

/// Version of the protocol; both sides must speak the same.
pub const PROTOCOL_VERSION: u32 = 1;
/// First word of either side, so that a stranger is recognised as one.
pub const MAGIC: &str = "daisy";
/// Stands for the id of a worker that has none yet.
const NO_WORKER: u64 = u64::MAX;

/// A number used once.
pub type Nonce = [u8; 32];
/// A proof: HMAC-SHA256 under the token.
pub type Proof = [u8; 32];

/// Who proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The side that connected.
    Worker,
    /// The side that listened.
    Server,
}

/// What both sides know before either proves anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transcript {
    /// The worker's nonce.
    pub worker_nonce: Nonce,
    /// The server's nonce.
    pub server_nonce: Nonce,
    /// The id that the worker claims.
    pub worker: Option<WorkerId>,
}

impl Transcript {
    /// The proof of one side.
    #[must_use]
    pub fn prove(&self, token: &Token, role: Role) -> Proof {
        self.mac(token, role).finalize().into_bytes().into()
    }

    /// Checks the proof of the other side, in constant time.
    ///
    /// # Errors
    /// `Authentication` if it is not made with this token.
    pub fn verify(&self, token: &Token, role: Role, proof: &Proof) -> Result<()> {
        self.mac(token, role).verify_slice(proof).map_err(|_| {
            let who = match role {
                Role::Worker => "the worker does not know this run's token",
                Role::Server => "the server does not know this run's token",
            };
            Error::new(ErrorKind::Authentication, who)
                .with_context("expected", "a worker of this run with its token file")
        })
    }

    fn mac(&self, token: &Token, role: Role) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(token.secret()).expect("HMAC takes keys of any length");
        mac.update(match role {
            Role::Worker => b"daisy/1 worker",
            Role::Server => b"daisy/1 server",
        });
        mac.update(&self.worker_nonce);
        mac.update(&self.server_nonce);
        mac.update(&self.worker.map_or(NO_WORKER, |worker| worker.0).to_be_bytes());
        mac
    }
}

/// A fresh nonce.
///
/// # Errors
/// `Io` if the system has no randomness to give.
pub fn new_nonce() -> Result<Nonce> {
    let mut nonce = [0; 32];
    fill_random(&mut nonce)?;
    Ok(nonce)
}

/// Compares what the peer speaks with what we speak.
///
/// # Errors
/// `Protocol`, naming both versions.
pub fn check_version(peer: u32) -> Result<()> {
    if peer == PROTOCOL_VERSION {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Protocol, "the other side speaks another version of the protocol")
        .with_context("got", peer)
        .with_context("expected", PROTOCOL_VERSION)
        .with_context("way out", "install the same daisy for the driver and its workers"))
}
