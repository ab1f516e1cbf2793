//! ROIs: anything with `begin` (or `offset`) and `shape` comes in, `funlib.geometry.Roi` goes out.

use daisy_core::geometry::{Coordinate, Roi};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyFloat, PyString, PyTuple, PyType};

use crate::errors::CoreError;

/// A ROI given by the user.
#[derive(Clone, Copy)]
pub(crate) struct RoiArg(pub(crate) Roi);

impl<'py> FromPyObject<'_, 'py> for RoiArg {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let begin = object.getattr("begin").or_else(|_| object.getattr("offset"));
        let (Ok(begin), Ok(shape)) = (begin, object.getattr("shape")) else {
            return Err(PyTypeError::new_err(format!(
                "expected a Roi (an object with integer `offset` and `shape`), got {}; \
                 make one with daisy.Roi(offset, shape)",
                describe(&object)
            )));
        };
        let (begin, shape) = (axes(&object, &begin, "offset")?, axes(&object, &shape, "shape")?);
        Ok(Self(Roi::new(&begin, &shape).map_err(|error| PyErr::from(CoreError::from(error)))?))
    }
}

/// The ROI given as this argument, which an error names.
pub(crate) fn roi_argument(name: &str, object: &Bound<'_, PyAny>) -> PyResult<Roi> {
    object.extract::<RoiArg>().map(|roi| roi.0).map_err(|error| {
        let py = object.py();
        let message = format!("argument '{name}': {}", error.value(py));
        if error.is_instance_of::<PyTypeError>(py) {
            PyTypeError::new_err(message)
        } else {
            PyValueError::new_err(message)
        }
    })
}

fn axes(roi: &Bound<'_, PyAny>, values: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<i64>> {
    let wrong = |value: &Bound<'_, PyAny>| {
        PyTypeError::new_err(format!(
            "expected a Roi with an integer for each axis of its {name}, got {} in {}",
            describe(value),
            describe(roi)
        ))
    };
    let Ok(entries) = values.try_iter() else { return Err(wrong(values)) };
    let mut axes = Vec::new();
    for entry in entries {
        let entry = entry?;
        let number = if entry.is_instance_of::<PyBool>() || entry.is_instance_of::<PyFloat>() {
            None
        } else {
            entry.extract::<i64>().ok()
        };
        axes.push(number.ok_or_else(|| wrong(&entry))?);
    }
    Ok(axes)
}

/// `repr` and type of a value, for messages; never fails.
fn describe(value: &Bound<'_, PyAny>) -> String {
    let kind = value.get_type().name().map_or_else(|_| "object".to_owned(), |name| name.to_string());
    match value.repr() {
        Ok(text) => format!("{} ({kind})", text.to_string_lossy()),
        Err(_) => format!("an object of type {kind}"),
    }
}

/// The `funlib.geometry.Roi` of a ROI. funlib is slow to import, so that happens when first asked for.
pub(crate) fn to_funlib<'py>(py: Python<'py>, roi: &Roi) -> PyResult<Bound<'py, PyAny>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let class = CLASS.import(py, "funlib.geometry", "Roi")?;
    class.call1((to_tuple(py, &roi.begin())?, to_tuple(py, &roi.shape())?))
}

/// The values of a coordinate as a tuple.
pub(crate) fn to_tuple<'py>(py: Python<'py>, values: &Coordinate) -> PyResult<Bound<'py, PyTuple>> {
    PyTuple::new(py, values.iter())
}

/// The text form of a fit, checked here so that a wrong one names the argument.
pub(crate) fn fit_from(object: &Bound<'_, PyAny>) -> PyResult<daisy_core::plan::Fit> {
    let Ok(text) = object.cast::<PyString>() else {
        return Err(PyTypeError::new_err(format!(
            "argument 'fit': expected \"valid\", \"overhang\" or \"shrink\", got {}",
            describe(object)
        )));
    };
    text.to_string_lossy()
        .parse()
        .map_err(|error: daisy_core::Error| PyValueError::new_err(format!("argument 'fit': {error}")))
}
