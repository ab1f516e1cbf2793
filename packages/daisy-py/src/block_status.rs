//! `daisy.BlockStatus`, an `IntEnum` made in Python, and its members by number.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyInt};

pub(crate) const CREATED: u8 = 0;
pub(crate) const PROCESSING: u8 = 1;
pub(crate) const SUCCESS: u8 = 2;
pub(crate) const FAILED: u8 = 3;

/// The member with this value.
pub(crate) fn member(py: Python<'_>, value: u8) -> PyResult<Py<PyAny>> {
    static MEMBERS: PyOnceLock<[Py<PyAny>; 4]> = PyOnceLock::new();
    let members = MEMBERS.get_or_try_init(py, || {
        let class = py.import("daisy._block_status")?.getattr("BlockStatus")?;
        let member = |value: u8| class.call1((value,)).map(Bound::unbind);
        PyResult::Ok([member(CREATED)?, member(PROCESSING)?, member(SUCCESS)?, member(FAILED)?])
    })?;
    Ok(members[usize::from(value.min(FAILED))].clone_ref(py))
}

/// What is said of a block function that raised nothing, yet left a status that is no success.
pub(crate) fn failure_text(value: u8) -> String {
    if value == CREATED {
        "the block function left block.status at CREATED, expected SUCCESS, or PROCESSING as it was given"
            .to_owned()
    } else {
        "the block function set block.status to FAILED".to_owned()
    }
}

/// The value of what a user assigned to `block.status`.
pub(crate) fn value(object: &Bound<'_, PyAny>) -> PyResult<u8> {
    if !object.is_instance_of::<PyInt>() || object.is_instance_of::<PyBool>() {
        return Err(PyTypeError::new_err(format!(
            "argument 'status': expected a daisy.BlockStatus, got {}",
            object.repr()?
        )));
    }
    match object.extract::<u8>() {
        Ok(value) if value <= FAILED => Ok(value),
        _ => Err(PyValueError::new_err(format!(
            "argument 'status': expected a daisy.BlockStatus (0 to 3), got {}",
            object.repr()?
        ))),
    }
}
