//! A worker's stream of bytes: one thread reads while others write.
//!
//! The one place that knows what lies under the frames; TLS comes in here.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

/// A connected stream. Reading and writing do not wait for each other.
#[derive(Debug)]
pub(super) struct Stream(TcpStream);

impl Stream {
    /// Connects within this time.
    pub(super) fn connect(address: &SocketAddr, limit: Duration) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(address, limit)?;
        // Frames are written whole: waiting for more to come would only delay them.
        stream.set_nodelay(true)?;
        Ok(Self(stream))
    }

    /// Reads what is there; zero at the end of the stream.
    pub(super) fn read(&self, room: &mut [u8]) -> io::Result<usize> {
        loop {
            match (&self.0).read(room) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => return other,
            }
        }
    }

    /// Writes all of it.
    pub(super) fn write_all(&self, bytes: &[u8]) -> io::Result<()> {
        (&self.0).write_all(bytes)
    }

    /// How long a read may wait; `None`: for ever.
    pub(super) fn limit_reads(&self, limit: Option<Duration>) -> io::Result<()> {
        self.0.set_read_timeout(limit)
    }

    /// How long a write may wait for a peer that does not read.
    pub(super) fn limit_writes(&self, limit: Duration) -> io::Result<()> {
        self.0.set_write_timeout(Some(limit))
    }

    /// Says that nothing more will be written; what the peer still sends can be read.
    pub(super) fn end_writing(&self) -> io::Result<()> {
        self.0.shutdown(Shutdown::Write)
    }

    /// Ends both directions, waking whoever reads or writes.
    pub(super) fn end(&self) {
        // It may have ended by itself already, which is what is wanted.
        self.0.shutdown(Shutdown::Both).ok();
    }
}
