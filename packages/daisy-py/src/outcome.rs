//! What a run came to.

use std::sync::Arc;

use daisy_core::geometry::IndexSet;
use daisy_core::ids::TaskId;
use daisy_core::scheduler::RunOutcome as CoreOutcome;
use daisy_core::stats::RunStats;
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::block::TaskPlace;
use crate::pipeline_plan::PipelinePlan;
use crate::task_state::TaskState;

/// What became of each task; ids of blocks are made when they are asked for.
#[pyclass(name = "RunOutcome", module = "daisy._core", frozen)]
pub(crate) struct RunOutcome {
    outcome: CoreOutcome,
    stats: RunStats,
    plan: Py<PipelinePlan>,
}

/// Task, summary, count, first traceback, example blocks.
type ErrorRow = (String, String, u64, String, Vec<(String, u64)>);

impl RunOutcome {
    pub(crate) const fn new(outcome: CoreOutcome, stats: RunStats, plan: Py<PipelinePlan>) -> Self {
        Self { outcome, stats, plan }
    }

    fn name(&self, task: TaskId) -> &str {
        self.plan.get().pipeline.task(task).name()
    }

    fn id_sets(&self, choose: impl Fn(usize) -> IndexSet) -> Vec<(String, IdSet)> {
        let order = self.plan.get().pipeline.order();
        let sets = order.iter().map(|task| {
            let place = Arc::clone(self.plan.get().place(*task));
            (self.name(*task).to_owned(), IdSet { place, indices: choose(task.index()) })
        });
        sets.filter(|(_, ids)| ids.indices.count() > 0).collect()
    }
}

#[pymethods]
impl RunOutcome {
    /// Whether every block of every task is done.
    #[getter]
    fn has_succeeded(&self) -> bool {
        self.outcome.has_succeeded()
    }

    /// Whether the run was cancelled.
    #[getter]
    const fn cancelled(&self) -> bool {
        self.outcome.cancelled
    }

    /// Final states by task name, in the order in which data flows.
    #[getter]
    fn states<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let states = PyDict::new(py);
        let pipeline = &self.plan.get().pipeline;
        for task in pipeline.order() {
            let state = TaskState::ended(&self.outcome.tasks[task.index()], pipeline.task(*task));
            states.set_item(self.name(*task), state.into_pyobject(py)?)?;
        }
        Ok(states)
    }

    /// What was counted and measured, as JSON; `docs/design/RUN_STATS.md` describes it.
    fn stats(&self) -> PyResult<String> {
        serde_json::to_string(&self.stats).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// What happened when, as JSON.
    fn history(&self) -> PyResult<String> {
        serde_json::to_string(&self.stats.history).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// State of each block of a task as a byte, row-major; empty for tasks that are too large.
    fn block_states<'py>(&self, py: Python<'py>, task: usize) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.stats.cells.get(task).map_or(&[], |cells| &cells.states))
    }

    /// Seconds per block of a task, as little-endian 32-bit floats, row-major, NaN where none succeeded in this run;
    /// empty for tasks that are too large.
    fn block_seconds<'py>(&self, py: Python<'py>, task: usize) -> PyResult<Bound<'py, PyBytes>> {
        let seconds = self.stats.cells.get(task).map_or(&[][..], |cells| &cells.seconds);
        PyBytes::new_with(py, seconds.len() * 4, |bytes| {
            for (cell, value) in bytes.chunks_exact_mut(4).zip(seconds) {
                cell.copy_from_slice(&value.to_le_bytes());
            }
            Ok(())
        })
    }

    /// Ids of failed blocks, for each task that has some.
    fn failed(&self) -> Vec<(String, IdSet)> {
        self.id_sets(|task| self.outcome.tasks[task].failed.clone())
    }

    /// Ids of orphaned blocks, for each task that has some.
    fn orphaned(&self) -> Vec<(String, IdSet)> {
        self.id_sets(|task| self.outcome.tasks[task].orphaned.clone())
    }

    /// Grouped errors: `(task, summary, count, first traceback, example block ids)`.
    fn errors(&self) -> Vec<ErrorRow> {
        let plan = self.plan.get();
        let mut rows = Vec::new();
        for task in plan.pipeline.order() {
            let name = self.name(*task);
            for group in &self.outcome.tasks[task.index()].errors {
                let layout = &plan.place(*task).layout;
                let examples = group.examples.iter();
                let examples = examples.map(|block| (name.to_owned(), layout.block_id(block.index)));
                rows.push((
                    name.to_owned(),
                    group.summary.clone(),
                    group.count,
                    group.first.to_string(),
                    examples.collect(),
                ));
            }
        }
        rows
    }
}

/// Block ids of one task, in the order of their places.
#[pyclass(name = "IdSet", module = "daisy._core", frozen)]
pub(crate) struct IdSet {
    place: Arc<TaskPlace>,
    indices: IndexSet,
}

#[pymethods]
impl IdSet {
    fn __len__(&self) -> usize {
        usize::try_from(self.indices.count()).unwrap_or(usize::MAX)
    }

    fn __contains__(&self, id: u64) -> bool {
        self.place.layout.index_of_id(id).is_some_and(|index| self.indices.contains(index))
    }

    /// The id at this position.
    fn at(&self, position: usize) -> PyResult<u64> {
        let index = self.indices.iter().nth(position);
        index.map(|index| self.place.layout.block_id(index)).ok_or_else(|| {
            PyIndexError::new_err(format!("there are {} ids, got position {position}", self.indices.count()))
        })
    }

    fn __iter__(slf: &Bound<'_, Self>) -> IdIterator {
        IdIterator { ids: slf.clone().unbind(), from: 0 }
    }
}

/// Iterator over an [`IdSet`].
#[pyclass(name = "IdIterator", module = "daisy._core")]
pub(crate) struct IdIterator {
    ids: Py<IdSet>,
    from: u64,
}

#[pymethods]
impl IdIterator {
    const fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&mut self) -> Option<u64> {
        let ids = self.ids.get();
        let index = ids.indices.next_present(self.from)?;
        self.from = index + 1;
        Some(ids.place.layout.block_id(index))
    }
}
