//! A validated task.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use daisy_core::geometry::Roi;
use daisy_core::plan::{Resources, RetryPolicy, TaskOptions, TaskPlan as CorePlan};
use pyo3::prelude::*;

use crate::block::{Block, TaskPlace};
use crate::block_status;
use crate::errors::{CoreError, Result};
use crate::roi::{fit_from, roi_argument, to_funlib};

/// What `daisy.Task` holds: checked once, when it is made.
#[pyclass(name = "TaskPlan", module = "daisy._core", frozen)]
pub(crate) struct TaskPlan {
    pub(crate) plan: CorePlan,
    pub(crate) place: Arc<TaskPlace>,
    read: Roi,
    write: Roi,
}

#[pymethods]
impl TaskPlan {
    #[new]
    #[allow(clippy::too_many_arguments, reason = "keywords of Python")]
    #[pyo3(signature = (task_id, total_roi, read_roi, write_roi, *, fit, read_write_conflict, max_workers,
        max_retries, max_worker_restarts, give_up_after, timeout, requires, checked))]
    fn new(
        task_id: &str,
        total_roi: &Bound<'_, PyAny>,
        read_roi: &Bound<'_, PyAny>,
        write_roi: &Bound<'_, PyAny>,
        fit: &Bound<'_, PyAny>,
        read_write_conflict: bool,
        max_workers: u32,
        max_retries: u32,
        max_worker_restarts: u32,
        give_up_after: Option<u64>,
        timeout: Option<Duration>,
        requires: BTreeMap<String, u64>,
        checked: bool,
    ) -> PyResult<Self> {
        let retry = RetryPolicy { max_retries, max_worker_restarts, give_up_after, timeout };
        let requires = Resources::new(requires);
        let options = TaskOptions { read_write_conflict, max_workers, retry, requires, checked };
        let total = roi_argument("total_roi", total_roi)?;
        let (read, write) = (roi_argument("read_roi", read_roi)?, roi_argument("write_roi", write_roi)?);
        let plan =
            CorePlan::new(task_id, total, read, write, fit_from(fit)?, options).map_err(CoreError::from)?;
        let place = Arc::new(TaskPlace { name: task_id.into(), layout: *plan.layout() });
        Ok(Self { plan, place, read, write })
    }

    /// The total ROI, context included.
    #[getter]
    fn total_roi<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_funlib(py, &self.plan.layout().total_roi())
    }

    /// The total ROI shrunk by the context.
    #[getter]
    fn total_write_roi<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_funlib(py, &self.plan.layout().total_write_roi())
    }

    /// The read ROI of a block, as the user gave it.
    #[getter]
    fn read_roi<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_funlib(py, &self.read)
    }

    /// The write ROI of a block, as the user gave it.
    #[getter]
    fn write_roi<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_funlib(py, &self.write)
    }

    /// Number of axes.
    #[getter]
    const fn dims(&self) -> usize {
        self.plan.layout().dims()
    }

    /// Number of blocks.
    #[getter]
    const fn block_count(&self) -> u64 {
        self.plan.layout().block_count()
    }

    /// Blocks per axis.
    #[getter]
    fn block_grid_shape(&self) -> Vec<u64> {
        self.plan.layout().grid().shape().to_vec()
    }

    /// The block at this dense, row-major index.
    fn block_at(&self, index: u64) -> Result<Block> {
        if index < self.plan.layout().block_count() {
            return Ok(Block::of(&self.place, index, block_status::CREATED));
        }
        Err(daisy_core::Error::new(daisy_core::ErrorKind::InvalidArgument, "there is no such block index")
            .with_context("got", index)
            .with_context("expected", format!("below {}", self.plan.layout().block_count()))
            .into())
    }
}
