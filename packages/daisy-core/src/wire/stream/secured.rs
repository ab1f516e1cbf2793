//! TLS over a socket of which one thread reads while others write.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use rustls::ClientConnection;

use super::read_socket;
use crate::error::{Error, ErrorKind, Result};
use crate::wire::tls::{Fingerprint, client_of, explain, server_name};

/// Bytes that are encrypted and written at a time.
const PIECE: usize = 16 << 10;
/// Bytes that are read from the socket at a time.
const ROOM: usize = 32 << 10;

/// What is known of a session. The lock of the session is never held while the socket waits, so that who reads and
/// who writes do not wait for each other.
#[derive(Debug)]
pub(super) struct Secured {
    session: Mutex<ClientConnection>,
    /// What was read from the socket; used by whoever reads.
    incoming: Mutex<Incoming>,
    /// Held from encrypting to writing, so that records leave in their order; the bytes are kept for their memory.
    outgoing: Mutex<Vec<u8>>,
}

#[derive(Debug)]
struct Incoming {
    bytes: Box<[u8]>,
    start: usize,
    end: usize,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Secured {
    /// Agrees with the server on keys, before this time.
    pub(super) fn agree(mut socket: &TcpStream, certificate: Fingerprint, deadline: Instant) -> Result<Self> {
        let mut session =
            ClientConnection::new(client_of(certificate)?, server_name()).map_err(|error| explain(&error))?;
        while session.is_handshaking() {
            while session.wants_write() {
                session.write_tls(&mut socket).map_err(broken)?;
            }
            if !session.is_handshaking() {
                break;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(slow());
            }
            socket.set_read_timeout(Some(left))?;
            match session.read_tls(&mut socket) {
                Ok(0) => return Err(broken(io::ErrorKind::UnexpectedEof.into())),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                    return Err(slow());
                }
                Err(error) => return Err(broken(error)),
            }
            if let Err(error) = session.process_new_packets() {
                // The server is told why, if it still listens.
                session.write_tls(&mut socket).ok();
                return Err(explain(&error));
            }
        }
        while session.wants_write() {
            session.write_tls(&mut socket).map_err(broken)?;
        }
        let incoming = Incoming { bytes: vec![0; ROOM].into(), start: 0, end: 0 };
        Ok(Self {
            session: Mutex::new(session),
            incoming: Mutex::new(incoming),
            outgoing: Mutex::new(Vec::new()),
        })
    }

    pub(super) fn read(&self, socket: &TcpStream, room: &mut [u8]) -> io::Result<usize> {
        let mut incoming = lock(&self.incoming);
        loop {
            let mut session = lock(&self.session);
            match session.reader().read(room) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // Ended without a word; the frames know whether something is missing.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
                other => return other,
            }
            if incoming.start == incoming.end {
                drop(session);
                incoming.end = 0;
                incoming.start = 0;
                incoming.end = read_socket(socket, &mut incoming.bytes)?;
                if incoming.end == 0 {
                    return Ok(0);
                }
                session = lock(&self.session);
            }
            let taken = session.read_tls(&mut &incoming.bytes[incoming.start..incoming.end])?;
            incoming.start += taken;
            session
                .process_new_packets()
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        }
    }

    pub(super) fn write_all(&self, socket: &TcpStream, bytes: &[u8]) -> io::Result<()> {
        let mut outgoing = lock(&self.outgoing);
        for piece in bytes.chunks(PIECE) {
            send(&self.session, socket, &mut outgoing, |session| session.writer().write_all(piece))?;
        }
        Ok(())
    }

    pub(super) fn end_writing(&self, socket: &TcpStream) -> io::Result<()> {
        send(&self.session, socket, &mut lock(&self.outgoing), |session| {
            session.send_close_notify();
            Ok(())
        })
    }
}

/// Writes what a session has to say after `speak`.
fn send(
    session: &Mutex<ClientConnection>,
    mut socket: &TcpStream,
    outgoing: &mut Vec<u8>,
    speak: impl FnOnce(&mut ClientConnection) -> io::Result<()>,
) -> io::Result<()> {
    outgoing.clear();
    let mut session = lock(session);
    speak(&mut session)?;
    while session.wants_write() {
        session.write_tls(outgoing)?;
    }
    drop(session);
    socket.write_all(outgoing)
}

fn slow() -> Error {
    Error::new(ErrorKind::Address, "the server took too long to agree on TLS")
        .with_context("expected", "an answer within a few seconds")
}

fn broken(error: io::Error) -> Error {
    Error::new(ErrorKind::ConnectionLost, "the connection broke while agreeing on TLS").with_source(error)
}
