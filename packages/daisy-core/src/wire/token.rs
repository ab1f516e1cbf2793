//! The secret of a run, which workers prove to know.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;

use zeroize::Zeroize;

use crate::error::{Error, ErrorKind, Result};

/// Length of a token in bytes.
pub(crate) const TOKEN_BYTES: usize = 32;

/// 32 random bytes, made for one run. Never printed; wiped when dropped; at rest only in a file of mode 0600.
///
/// ```
/// use daisy_core::wire::Token;
/// let token = Token::from_bytes([7; 32]);
/// assert_eq!(format!("{token:?}"), "Token(…)");
/// ```
#[derive(Clone)]
pub struct Token([u8; TOKEN_BYTES]);

impl Token {
    /// A new token from the operating system's random source.
    ///
    /// # Errors
    /// `Io` if the system has no randomness to give.
    pub fn generate() -> Result<Self> {
        let mut bytes = [0; TOKEN_BYTES];
        fill_random(&mut bytes)?;
        Ok(Self(bytes))
    }

    /// The token with these bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; TOKEN_BYTES]) -> Self {
        Self(bytes)
    }

    /// The secret itself; for the handshake and for whoever must store it.
    #[must_use]
    pub const fn secret(&self) -> &[u8; TOKEN_BYTES] {
        &self.0
    }

    /// Reads the token that [`Token::write_file`] wrote.
    ///
    /// # Errors
    /// `Io` if the file cannot be read, `Authentication` if it is not a token.
    pub fn read_file(path: &Path) -> Result<Self> {
        let mut bytes = Vec::with_capacity(TOKEN_BYTES + 1);
        let read =
            File::open(path).and_then(|file| file.take(TOKEN_BYTES as u64 + 1).read_to_end(&mut bytes));
        read.map_err(|error| {
            Error::new(ErrorKind::Io, "the token file cannot be read")
                .with_context("path", path.display())
                .with_source(error)
        })?;
        let token = bytes.as_slice().try_into().map(Self).map_err(|_| {
            Error::new(ErrorKind::Authentication, "the token file does not hold a token")
                .with_context("path", path.display())
                .with_context("got", format!("{} bytes or more", bytes.len()))
                .with_context("expected", format!("{TOKEN_BYTES} bytes"))
        });
        bytes.zeroize();
        token
    }

    /// Writes the token to a new file that only this user can read.
    ///
    /// # Errors
    /// `Io` if the file exists already or cannot be written.
    pub fn write_file(&self, path: &Path) -> Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(path).and_then(|mut file| file.write_all(&self.0)).map_err(|error| {
            Error::new(ErrorKind::Io, "the token file cannot be written")
                .with_context("path", path.display())
                .with_source(error)
        })
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// Fills `bytes` from the operating system's random source.
pub(crate) fn fill_random(bytes: &mut [u8]) -> Result<()> {
    getrandom::fill(bytes)
        .map_err(|error| Error::new(ErrorKind::Io, "the system has no random numbers").with_source(error))
}
