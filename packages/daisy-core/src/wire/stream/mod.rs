//! A worker's stream of bytes: one thread reads while others write.
//!
//! The one place in a worker that knows what lies under the frames: a socket, or TLS over one.

mod secured;

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use super::tls::Fingerprint;
use crate::error::Result;
use secured::Secured;

/// A connected stream. Reading and writing do not wait for each other.
#[derive(Debug)]
pub(super) struct Stream {
    socket: TcpStream,
    secured: Option<Secured>,
}

impl Stream {
    /// Connects within this time.
    pub(super) fn connect(address: &SocketAddr, limit: Duration) -> io::Result<Self> {
        let socket = TcpStream::connect_timeout(address, limit)?;
        // Frames are written whole: waiting for more to come would only delay them.
        socket.set_nodelay(true)?;
        Ok(Self { socket, secured: None })
    }

    /// From now on speaks TLS, with the server of this certificate and no other.
    pub(super) fn secure(&mut self, certificate: Fingerprint, deadline: Instant) -> Result<()> {
        self.secured = Some(Secured::agree(&self.socket, certificate, deadline)?);
        Ok(())
    }

    /// Reads what is there; zero at the end of the stream. One thread at a time.
    pub(super) fn read(&self, room: &mut [u8]) -> io::Result<usize> {
        match &self.secured {
            None => read_socket(&self.socket, room),
            Some(secured) => secured.read(&self.socket, room),
        }
    }

    /// Writes all of it.
    pub(super) fn write_all(&self, bytes: &[u8]) -> io::Result<()> {
        match &self.secured {
            None => (&self.socket).write_all(bytes),
            Some(secured) => secured.write_all(&self.socket, bytes),
        }
    }

    /// How long a read may wait; `None`: for ever.
    pub(super) fn limit_reads(&self, limit: Option<Duration>) -> io::Result<()> {
        self.socket.set_read_timeout(limit)
    }

    /// How long a write may wait for a peer that does not read.
    pub(super) fn limit_writes(&self, limit: Duration) -> io::Result<()> {
        self.socket.set_write_timeout(Some(limit))
    }

    /// Says that nothing more will be written; what the peer still sends can be read.
    pub(super) fn end_writing(&self) -> io::Result<()> {
        if let Some(secured) = &self.secured {
            secured.end_writing(&self.socket)?;
        }
        self.socket.shutdown(Shutdown::Write)
    }

    /// Ends both directions, waking whoever reads or writes.
    pub(super) fn end(&self) {
        // It may have ended by itself already, which is what is wanted.
        self.socket.shutdown(Shutdown::Both).ok();
    }
}

fn read_socket(mut socket: &TcpStream, room: &mut [u8]) -> io::Result<usize> {
    loop {
        match socket.read(room) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}
