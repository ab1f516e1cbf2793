//! One call of a block function: status, measurement, and what a failure becomes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use daisy_core::Measurement;
use daisy_core::scheduler::Outcome;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyBool;

use crate::block::{Block, TaskPlace};
use crate::block_stats::BlockStats;
use crate::block_status::{FAILED, PROCESSING, SUCCESS, failure_text};

/// The function of a task and what goes with it.
pub(crate) struct BlockCall {
    function: Py<PyAny>,
    /// Makes an object whose `read()` gives `BlockStats`; `None` if nothing is measured.
    meter: Option<Py<PyAny>>,
}

/// What a call came to.
pub(crate) struct Called {
    pub(crate) block: Py<Block>,
    /// What the function raised.
    pub(crate) error: Option<PyErr>,
    pub(crate) succeeded: bool,
    /// The status at which the function left the block.
    pub(crate) left: u8,
    pub(crate) duration: Duration,
    pub(crate) measurement: Option<Measurement>,
}

impl BlockCall {
    pub(crate) const fn new(function: Py<PyAny>, meter: Option<Py<PyAny>>) -> Self {
        Self { function, meter }
    }

    /// Calls the function with the block at this index.
    pub(crate) fn call(&self, py: Python<'_>, task: &Arc<TaskPlace>, index: u64) -> PyResult<Called> {
        let block = Py::new(py, Block::of(task, index, PROCESSING))?;
        let meter = self.meter.as_ref().map(|meter| meter.call0(py)).transpose()?;
        let started = Instant::now();
        let result = self.function.call1(py, (&block,));
        let duration = started.elapsed();
        let measurement = match meter {
            Some(meter) => Some(measured(py, &block, meter.call_method0(py, "read")?)?),
            None => None,
        };
        let error = match result {
            Ok(value) if value.is_none(py) => None,
            Ok(value) => unfinished(value.bind(py), "block function"),
            Err(error) => Some(error),
        };
        let left = block.borrow(py).status_value();
        let succeeded = error.is_none() && matches!(left, PROCESSING | SUCCESS);
        block.borrow_mut(py).set_status_value(if succeeded { SUCCESS } else { FAILED });
        Ok(Called { block, error, succeeded, left, duration, measurement })
    }
}

/// What the user measured with `profile_block`, or else the whole call.
fn measured(py: Python<'_>, block: &Py<Block>, whole: Py<PyAny>) -> PyResult<Measurement> {
    let own = block.borrow(py).attached_stats().map(|stats| stats.get().measurement());
    match own {
        Some(own) => Ok(own),
        None => Ok(whole.cast_bound::<BlockStats>(py)?.get().measurement()),
    }
}

/// What is wrong with what a function of the user's returned: one that returns a coroutine, a generator or a future
/// has not done its work.
pub(crate) fn unfinished(value: &Bound<'_, PyAny>, what: &str) -> Option<PyErr> {
    if value.is_none() || value.is_instance_of::<PyBool>() {
        return None;
    }
    let kind = value.get_type().name().ok()?.to_string();
    let (is_coroutine, is_generator) = (kind == "coroutine", kind == "generator");
    if is_coroutine || is_generator {
        if let Err(error) = value.call_method0("close") {
            return Some(error);
        }
    } else if kind != "async_generator" && !value.get_type().hasattr("__await__").unwrap_or(false) {
        return None;
    }
    Some(PyTypeError::new_err(format!(
        "the {what} returned a {kind}, so its work is not done; expected a plain function, for example \
         lambda block: asyncio.run(function(block))"
    )))
}

/// Refuses what a function of the user's returned if its work is not done: a coroutine, a generator, a future.
#[pyfunction]
pub(crate) fn refuse_unfinished(value: &Bound<'_, PyAny>, what: &str) -> PyResult<()> {
    unfinished(value, what).map_or(Ok(()), Err)
}

/// Sets the status of a block after its call; returns what to say if that was a failure without an exception's text.
#[pyfunction]
pub(crate) fn settle_status(block: &Bound<'_, Block>, raised: bool) -> Option<String> {
    let left = block.borrow().status_value();
    let succeeded = !raised && matches!(left, PROCESSING | SUCCESS);
    block.borrow_mut().set_status_value(if succeeded { SUCCESS } else { FAILED });
    (!succeeded).then(|| failure_text(left))
}

impl Called {
    /// What is reported, with this text for a failure.
    pub(crate) fn outcome(&self, text: impl FnOnce() -> String) -> Outcome {
        if self.succeeded { Outcome::Succeeded } else { Outcome::Failed { error: text().into() } }
    }
}
