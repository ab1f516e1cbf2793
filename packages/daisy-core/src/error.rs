//! The one error type: a kind to decide on, and fields to read.

use std::error::Error as StdError;
use std::fmt;

/// What went wrong, for the caller to decide on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A value that no task can have: sizes, ranks, names, numbers.
    InvalidArgument,
    /// Tasks that do not fit together: duplicate names, cycles, ranks.
    InvalidPipeline,
    /// A number that would not fit in 64 bits.
    Overflow,
    /// An address that cannot be bound, resolved or reached.
    Address,
    /// The peer does not speak the protocol, or not this version of it.
    Protocol,
    /// The peer does not know the run's token.
    Authentication,
    /// The connection is gone.
    ConnectionLost,
    /// A tracking store that cannot be used.
    Store,
    /// A store that was written for another geometry.
    StoreMismatch,
    /// A store that another run is using.
    StoreLocked,
    /// Something an event asked for that the state does not allow.
    Refused,
    /// The operating system said no.
    Io,
}

impl ErrorKind {
    /// A stable name in snake case, as used in messages and in the reference.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::InvalidArgument => "invalid_argument",
            Self::InvalidPipeline => "invalid_pipeline",
            Self::Overflow => "overflow",
            Self::Address => "address",
            Self::Protocol => "protocol",
            Self::Authentication => "authentication",
            Self::ConnectionLost => "connection_lost",
            Self::Store => "store",
            Self::StoreMismatch => "store_mismatch",
            Self::StoreLocked => "store_locked",
            Self::Refused => "refused",
            Self::Io => "io",
        }
    }
}

/// An error of daisy-core.
///
/// ```
/// use daisy_core::{Error, ErrorKind};
/// let error = Error::new(ErrorKind::InvalidArgument, "write ROI is not inside read ROI")
///     .with_operation("Task")
///     .with_context("task", "extract");
/// assert_eq!(error.to_string(), "write ROI is not inside read ROI (task: extract)");
/// ```
pub struct Error {
    kind: ErrorKind,
    operation: &'static str,
    message: String,
    context: Vec<(&'static str, String)>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// Shorthand for results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error of this kind; the message says what is wrong, the context gives the values.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, operation: "", message: message.into(), context: Vec::new(), source: None }
    }

    /// Names the operation that was asked for.
    #[must_use]
    pub fn with_operation(mut self, operation: &'static str) -> Self {
        self.operation = operation;
        self
    }

    /// Adds a value to the message, for example `("got", …)` and `("expected", …)`.
    #[must_use]
    pub fn with_context(mut self, key: &'static str, value: impl fmt::Display) -> Self {
        self.context.push((key, value.to_string()));
        self
    }

    /// Keeps the error that caused this one.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// What went wrong, for the caller to decide on.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The operation that was asked for, or an empty string.
    #[must_use]
    pub const fn operation(&self) -> &'static str {
        self.operation
    }

    /// The values that belong to the message, in order.
    #[must_use]
    pub fn context(&self) -> &[(&'static str, String)] {
        &self.context
    }

    /// Takes the cause out, so that a caller can give back the very object it put in.
    pub fn take_source(&mut self) -> Option<Box<dyn StdError + Send + Sync>> {
        self.source.take()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        for (position, (key, value)) in self.context.iter().enumerate() {
            write!(f, "{}{key}: {value}", if position == 0 { " (" } else { ", " })?;
        }
        if !self.context.is_empty() {
            f.write_str(")")?;
        }
        match &self.source {
            Some(source) => write!(f, ": {source}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.kind)
            .field("operation", &self.operation)
            .field("message", &self.message)
            .field("context", &self.context)
            .field("source", &self.source)
            .finish()
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self::new(ErrorKind::Io, "the operating system refused").with_source(error)
    }
}
