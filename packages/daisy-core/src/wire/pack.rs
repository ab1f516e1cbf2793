//! MessagePack, as far as messages need it: writing to memory, reading from memory that a stranger filled.

use rmp::Marker;
use rmp::decode::{self, NumValueReadError, ValueReadError};
use rmp::encode;

use crate::error::{Error, ErrorKind, Result};

/// Writes values to the end of a vector.
pub(super) struct Packer<'a>(pub(super) &'a mut Vec<u8>);

impl Packer<'_> {
    pub(super) fn array(&mut self, length: usize) {
        sure(encode::write_array_len(self.0, length as u32));
    }

    pub(super) fn uint(&mut self, value: u64) {
        sure(encode::write_uint(self.0, value));
    }

    pub(super) fn int(&mut self, value: i64) {
        sure(encode::write_sint(self.0, value));
    }

    pub(super) fn float(&mut self, value: f64) {
        sure(encode::write_f64(self.0, value));
    }

    pub(super) fn bool(&mut self, value: bool) {
        sure(encode::write_bool(self.0, value));
    }

    pub(super) fn text(&mut self, value: &str) {
        sure(encode::write_str(self.0, value));
    }

    pub(super) fn bytes(&mut self, value: &[u8]) {
        sure(encode::write_bin(self.0, value));
    }

    pub(super) fn nil(&mut self) {
        sure(encode::write_nil(self.0));
    }

    /// A value, or nil.
    pub(super) fn option<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        match value {
            Some(value) => write(self, value),
            None => self.nil(),
        }
    }
}

fn sure<T, E: std::fmt::Debug>(written: std::result::Result<T, E>) {
    written.map(drop).expect("memory takes every byte");
}

/// Longest array. An element takes more room in memory than on the wire: a long frame must not become far more of it.
pub(crate) const MOST_ELEMENTS: usize = 1 << 16;

/// Reads values from a slice. Every error says what was expected; nothing is allocated on a length's word.
#[derive(Clone, Copy)]
pub(super) struct Unpacker<'a>(pub(super) &'a [u8]);

impl<'a> Unpacker<'a> {
    /// The length of an array, which has at least that many bytes behind it.
    pub(super) fn array(&mut self, what: &'static str) -> Result<usize> {
        let length = decode::read_array_len(&mut self.0).map_err(|_| wrong(what, "an array"))? as usize;
        if length > MOST_ELEMENTS {
            return Err(wrong(what, "an array of at most 65536 elements"));
        }
        if length > self.0.len() {
            return Err(wrong(what, "as many elements as the array says"));
        }
        Ok(length)
    }

    /// An array of exactly this length.
    pub(super) fn array_of(&mut self, what: &'static str, length: usize) -> Result<()> {
        if self.array(what)? == length { Ok(()) } else { Err(wrong(what, "an array of another length")) }
    }

    pub(super) fn uint(&mut self, what: &'static str) -> Result<u64> {
        decode::read_int(&mut self.0)
            .map_err(|_: NumValueReadError<_>| wrong(what, "an unsigned integer of at most 64 bits"))
    }

    pub(super) fn small(&mut self, what: &'static str) -> Result<u32> {
        u32::try_from(self.uint(what)?).map_err(|_| wrong(what, "an unsigned integer of at most 32 bits"))
    }

    pub(super) fn int(&mut self, what: &'static str) -> Result<i64> {
        decode::read_int(&mut self.0)
            .map_err(|_: NumValueReadError<_>| wrong(what, "a signed integer of at most 64 bits"))
    }

    pub(super) fn float(&mut self, what: &'static str) -> Result<f64> {
        decode::read_f64(&mut self.0).map_err(|_| wrong(what, "a 64-bit float"))
    }

    pub(super) fn bool(&mut self, what: &'static str) -> Result<bool> {
        decode::read_bool(&mut self.0).map_err(|_: ValueReadError<_>| wrong(what, "true or false"))
    }

    pub(super) fn text(&mut self, what: &'static str) -> Result<&'a str> {
        let (text, rest) = decode::read_str_from_slice(self.0).map_err(|_| wrong(what, "UTF-8 text"))?;
        self.0 = rest;
        Ok(text)
    }

    pub(super) fn bytes<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N]> {
        let length = decode::read_bin_len(&mut self.0).map_err(|_| wrong(what, "bytes"))? as usize;
        let (bytes, rest) = self
            .0
            .split_first_chunk::<N>()
            .filter(|_| length == N)
            .ok_or_else(|| wrong(what, "another number of bytes"))?;
        self.0 = rest;
        Ok(*bytes)
    }

    /// A value, or nil.
    pub(super) fn option<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<Option<T>> {
        if self.0.first() == Some(&Marker::Null.to_u8()) {
            self.0 = &self.0[1..];
            return Ok(None);
        }
        read(self).map(Some)
    }

    /// Refuses what follows the last value.
    pub(super) fn end(&self) -> Result<()> {
        if self.0.is_empty() { Ok(()) } else { Err(wrong("message", "nothing after its end")) }
    }
}

/// The error for a value that is not what the protocol says.
pub(super) fn wrong(what: &'static str, expected: &'static str) -> Error {
    Error::new(ErrorKind::Protocol, "a message does not follow the protocol")
        .with_context("in", what)
        .with_context("expected", expected)
}
