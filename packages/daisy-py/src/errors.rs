//! Errors of the core as Python exceptions.

use daisy_core::{Error, ErrorKind};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// An error of the core on its way to Python; `?` turns a `daisy_core::Error` into it.
pub(crate) struct CoreError(Error);

/// Results of functions that Python calls.
pub(crate) type Result<T, E = CoreError> = std::result::Result<T, E>;

impl From<Error> for CoreError {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

impl From<CoreError> for PyErr {
    fn from(CoreError(mut error): CoreError) -> Self {
        // A Python exception that travelled through the core comes home as itself.
        if let Some(source) = error.take_source() {
            match source.downcast::<PyErr>() {
                Ok(original) => return *original,
                Err(source) => error = error.with_source(source),
            }
        }
        match class_name(error.kind()) {
            None => PyValueError::new_err(error.to_string()),
            Some(name) => Python::attach(|py| raise(py, name, &error).unwrap_or_else(|failure| failure)),
        }
    }
}

/// The class of `daisy._errors` for a kind; `None` where it is simply a wrong value.
const fn class_name(kind: ErrorKind) -> Option<&'static str> {
    match kind {
        ErrorKind::InvalidArgument | ErrorKind::InvalidPipeline | ErrorKind::Overflow => None,
        ErrorKind::Address => Some("AddressError"),
        ErrorKind::Protocol => Some("ProtocolError"),
        ErrorKind::Authentication => Some("AuthenticationError"),
        ErrorKind::ConnectionLost => Some("ConnectionLost"),
        ErrorKind::Store => Some("StoreError"),
        ErrorKind::StoreMismatch => Some("StoreMismatch"),
        ErrorKind::StoreLocked => Some("StoreLocked"),
        ErrorKind::Refused => Some("RefusedError"),
        // Kinds that a later core may add are errors of daisy, too.
        _ => Some("DaisyError"),
    }
}

fn raise(py: Python<'_>, name: &str, error: &Error) -> PyResult<PyErr> {
    let class = py.import("daisy._errors")?.getattr(name)?;
    let exception = class.call1((error.to_string(),))?;
    let details = PyDict::new(py);
    for (key, value) in error.context() {
        details.set_item(key, value)?;
    }
    exception.setattr("kind", error.kind().name())?;
    exception.setattr("details", details)?;
    Ok(PyErr::from_value(exception))
}
