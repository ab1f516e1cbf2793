//! The secret of a run, which workers prove to know, and by what they know the server.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;

use zeroize::{Zeroize, Zeroizing};

use super::tls::{Fingerprint, from_hex, hex};
use crate::error::{Error, ErrorKind, Result};

/// Length of a secret in bytes.
pub(crate) const TOKEN_BYTES: usize = 32;
/// First line of a token file.
const TITLE: &str = "daisy-token 2";
/// Longest token file that is read.
const MOST_BYTES: u64 = 4096;

/// 32 random bytes, made for one run, and the digest of the server's certificate if the run speaks TLS. Never printed;
/// wiped when dropped; at rest only in a file of mode 0600.
///
/// ```
/// use daisy_core::wire::Token;
/// let token = Token::from_bytes([7; 32]);
/// assert_eq!(format!("{token:?}"), "Token(…)");
/// ```
#[derive(Clone)]
pub struct Token {
    secret: [u8; TOKEN_BYTES],
    certificate: Option<Fingerprint>,
}

impl Token {
    /// A new token from the operating system's random source, for a run without TLS.
    ///
    /// # Errors
    /// `Io` if the system has no randomness to give.
    pub fn generate() -> Result<Self> {
        let mut secret = [0; TOKEN_BYTES];
        fill_random(&mut secret)?;
        Ok(Self::from_bytes(secret))
    }

    /// The token with this secret, for a run without TLS.
    #[must_use]
    pub const fn from_bytes(secret: [u8; TOKEN_BYTES]) -> Self {
        Self { secret, certificate: None }
    }

    /// The same secret, for a run that speaks TLS with this certificate, or, with `None`, without.
    #[must_use]
    pub fn with_certificate(mut self, certificate: Option<Fingerprint>) -> Self {
        self.certificate = certificate;
        self
    }

    /// The secret itself; for the handshake and for whoever must store it.
    #[must_use]
    pub const fn secret(&self) -> &[u8; TOKEN_BYTES] {
        &self.secret
    }

    /// The digest of the server's certificate, if the run speaks TLS.
    #[must_use]
    pub const fn certificate(&self) -> Option<Fingerprint> {
        self.certificate
    }

    /// Reads the token that [`Token::write_file`] wrote. A file of 32 bytes, as the first version wrote it, is the secret
    /// of a run without TLS.
    ///
    /// # Errors
    /// `Io` if the file cannot be read, `Authentication` if it is not a token.
    pub fn read_file(path: &Path) -> Result<Self> {
        // Room for all of it: growing would leave copies behind.
        let mut bytes = Zeroizing::new(Vec::with_capacity(MOST_BYTES as usize + 1));
        let read = File::open(path).and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes));
        read.map_err(|error| {
            Error::new(ErrorKind::Io, "the token file cannot be read")
                .with_context("path", path.display())
                .with_source(error)
        })?;
        if let Ok(secret) = bytes.as_slice().try_into() {
            return Ok(Self::from_bytes(secret));
        }
        Self::parse(&bytes).ok_or_else(|| {
            let title = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
            let is_other = title.starts_with(b"daisy-token ") && title != TITLE.as_bytes();
            let got = match str::from_utf8(title) {
                Ok(title) if is_other => format!("{title:?}"),
                _ => format!("{} bytes", bytes.len()),
            };
            Error::new(ErrorKind::Authentication, "the token file does not hold a token")
                .with_context("path", path.display())
                .with_context("got", got)
                .with_context("expected", format!("{TITLE:?}, then the secret; or {TOKEN_BYTES} bytes"))
        })
    }

    /// The token of a file with a title; lines that are not known are left to later versions.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut lines = str::from_utf8(bytes).ok()?.lines();
        if lines.next()? != TITLE {
            return None;
        }
        let (mut secret, mut certificate) = (None, None);
        for line in lines {
            match line.split_once(' ') {
                Some(("secret", value)) => secret = Some(from_hex(value)?),
                Some(("certificate-sha256", value)) => certificate = Some(from_hex(value)?),
                _ => {}
            }
        }
        Some(Self::from_bytes(secret?).with_certificate(certificate))
    }

    /// Writes the token to a new file that only this user can read.
    ///
    /// # Errors
    /// `Io` if the file exists already or cannot be written.
    pub fn write_file(&self, path: &Path) -> Result<()> {
        let secret = Zeroizing::new(hex(&self.secret));
        let certificate = self
            .certificate
            .map(|digest| format!("certificate-sha256 {}\n", hex(&digest)))
            .unwrap_or_default();
        let text = Zeroizing::new(format!("{TITLE}\nsecret {}\n{certificate}", secret.as_str()));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(path).and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| {
            Error::new(ErrorKind::Io, "the token file cannot be written")
                .with_context("path", path.display())
                .with_source(error)
        })
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        self.secret.zeroize();
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
