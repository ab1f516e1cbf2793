//! One call of a block function: status, measurement, and what a failure becomes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use daisy_core::Measurement;
use daisy_core::scheduler::Outcome;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::block::{Block, TaskPlace};
use crate::block_stats::BlockStats;
use crate::block_status::{FAILED, PROCESSING, SUCCESS};

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
            Ok(value) => refuse_unfinished(value.bind(py)),
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

/// A function that returns a coroutine or a generator has not done its work.
fn refuse_unfinished(value: &Bound<'_, PyAny>) -> Option<PyErr> {
    let kind = value.get_type().name().ok()?.to_string();
    if !matches!(kind.as_str(), "coroutine" | "generator" | "async_generator") {
        return None;
    }
    if kind != "async_generator"
        && let Err(error) = value.call_method0("close")
    {
        return Some(error);
    }
    Some(PyTypeError::new_err(format!(
        "the block function returned a {kind}, so its body has not run; expected a plain function"
    )))
}

impl Called {
    /// What is reported, with this text for a failure.
    pub(crate) fn outcome(&self, text: impl FnOnce() -> String) -> Outcome {
        if self.succeeded { Outcome::Succeeded } else { Outcome::Failed { error: text().into() } }
    }
}
