//! Frames: `[u32 big-endian length][body]`. Bytes only; what they mean is in [`super::message`].

use crate::error::{Error, ErrorKind, Result};

/// Longest body of a frame.
pub const MAX_FRAME: usize = 16 << 20;
/// Longest body of a frame from a peer that has not proven that it knows the token.
pub const MAX_FRAME_UNPROVEN: usize = 64 << 10;
/// Length of what precedes a body.
pub const HEADER: usize = 4;
/// Least room for a read.
const ROOM: usize = 4 << 10;

/// Appends a frame to `out`, its body written by `write`.
///
/// # Errors
/// `Protocol` if the body is longer than [`MAX_FRAME`]; `out` is then as before.
pub fn append_frame(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
    let start = out.len();
    out.extend_from_slice(&[0; HEADER]);
    write(out);
    let length = out.len() - start - HEADER;
    if length > MAX_FRAME {
        out.truncate(start);
        return Err(too_long(length, MAX_FRAME));
    }
    out[start..start + HEADER].copy_from_slice(&(length as u32).to_be_bytes());
    Ok(())
}

/// Bytes as they come in, cut into frames. Knows no socket: bytes are put into [`FrameBuffer::room`].
///
/// ```
/// use daisy_core::wire::{FrameBuffer, append_frame};
/// let mut sent = Vec::new();
/// append_frame(&mut sent, |body| body.extend_from_slice(b"abc")).unwrap();
/// let mut buffer = FrameBuffer::new(100);
/// buffer.room()[..7].copy_from_slice(&sent);
/// buffer.filled(7);
/// assert_eq!(buffer.next_frame().unwrap(), Some(&b"abc"[..]));
/// assert!(buffer.next_frame().unwrap().is_none() && buffer.is_between_frames());
/// ```
#[derive(Debug)]
pub struct FrameBuffer {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    limit: usize,
}

impl FrameBuffer {
    /// An empty buffer that takes bodies of at most `limit` bytes.
    #[must_use]
    pub const fn new(limit: usize) -> Self {
        Self { bytes: Vec::new(), start: 0, end: 0, limit }
    }

    /// From now on, takes bodies of at most `limit` bytes.
    pub const fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Where to put the next bytes; never empty. Grows with what came, never with what a header announces.
    pub fn room(&mut self) -> &mut [u8] {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
        if self.bytes.len() - self.end < ROOM {
            self.bytes.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
            if self.bytes.len() - self.end < ROOM {
                self.bytes.resize((2 * self.bytes.len()).max(2 * ROOM), 0);
            }
        }
        &mut self.bytes[self.end..]
    }

    /// Says that the first `count` bytes of [`FrameBuffer::room`] were filled.
    pub fn filled(&mut self, count: usize) {
        self.end = (self.end + count).min(self.bytes.len());
    }

    /// The body of the next whole frame, if there is one.
    ///
    /// # Errors
    /// `Protocol` if the next frame is empty or longer than the limit, as soon as its header is there.
    pub fn next_frame(&mut self) -> Result<Option<&[u8]>> {
        let waiting = &self.bytes[self.start..self.end];
        let Some((header, rest)) = waiting.split_first_chunk::<HEADER>() else { return Ok(None) };
        let length = u32::from_be_bytes(*header) as usize;
        if length == 0 || length > self.limit {
            return Err(too_long(length, self.limit));
        }
        if rest.len() < length {
            return Ok(None);
        }
        let body = self.start + HEADER;
        self.start = body + length;
        Ok(Some(&self.bytes[body..body + length]))
    }

    /// Whether nothing is waiting: the end of the stream is then a close, otherwise an error.
    #[must_use]
    pub const fn is_between_frames(&self) -> bool {
        self.start == self.end
    }

    /// Says what the end of the stream means here.
    ///
    /// # Errors
    /// `ConnectionLost` in any case; the message says whether a frame was cut off.
    pub fn end_of_stream<T>(&self) -> Result<T> {
        Err(if self.is_between_frames() {
            Error::new(ErrorKind::ConnectionLost, "the peer closed the connection")
        } else {
            Error::new(ErrorKind::ConnectionLost, "the connection ended inside a frame")
                .with_context("got", format!("{} bytes of it", self.end - self.start))
        })
    }
}

fn too_long(length: usize, limit: usize) -> Error {
    Error::new(ErrorKind::Protocol, "a frame has an impossible length")
        .with_context("got", format!("{length} bytes"))
        .with_context("expected", format!("1 to {limit}"))
}
