//! `daisy.TaskState`: the counts of a task at one moment.

use std::sync::Arc;

use daisy_core::plan::TaskPlan;
use daisy_core::scheduler::{Counters, TaskOutcome, TaskState as CoreState};
use pyo3::prelude::*;

/// The counts of a task at one moment.
///
/// ``total_block_count`` is the sum of the pending, ready, processing, completed, failed and orphaned blocks;
/// skipped blocks are among the completed.
///
/// >>> import daisy
/// >>> total, cell = daisy.Roi((0,), (40,)), daisy.Roi((0,), (10,))
/// >>> task = daisy.Task("copy", total, cell, cell, lambda block: None)
/// >>> result = daisy.run_blockwise(task, multiprocessing=False, progress=False, summary=False)
/// >>> state = result.states["copy"]
/// >>> state.completed_count, state.failed_count, state.is_done()
/// (4, 0, True)
#[pyclass(name = "TaskState", module = "daisy", frozen)]
#[derive(Clone)]
pub(crate) struct TaskState {
    state: CoreState,
    timeout_secs: Option<f64>,
    first_worker_error: Option<Arc<str>>,
    last_worker_error: Option<Arc<str>>,
}

impl TaskState {
    /// The state of a task while it runs.
    pub(crate) fn running(state: CoreState, plan: &TaskPlan) -> Self {
        let timeout_secs = plan.options().retry.timeout.map(|timeout| timeout.as_secs_f64());
        Self { state, timeout_secs, first_worker_error: None, last_worker_error: None }
    }

    /// The state of a task in the end.
    pub(crate) fn ended(outcome: &TaskOutcome, plan: &TaskPlan) -> Self {
        Self {
            first_worker_error: outcome.first_worker_error.clone(),
            last_worker_error: outcome.last_worker_error.clone(),
            ..Self::running(outcome.state.clone(), plan)
        }
    }

    const fn counters(&self) -> &Counters {
        self.state.counters()
    }
}

#[pymethods]
impl TaskState {
    /// Whether anything was ever given out or settled.
    #[getter]
    const fn started(&self) -> bool {
        let counters = self.counters();
        counters.leased + counters.settled() + counters.failed_attempts + counters.workers_launched > 0
            || self.state.has_ended()
    }

    /// All blocks.
    #[getter]
    const fn total_block_count(&self) -> u64 {
        self.counters().total
    }

    /// Blocks that could start now.
    #[getter]
    const fn ready_count(&self) -> u64 {
        self.counters().ready
    }

    /// Blocks that workers hold.
    #[getter]
    const fn processing_count(&self) -> u64 {
        self.counters().leased
    }

    /// Blocks that are done, those skipped included.
    #[getter]
    const fn completed_count(&self) -> u64 {
        self.counters().completed + self.counters().skipped
    }

    /// Blocks that did not have to run.
    #[getter]
    const fn skipped_count(&self) -> u64 {
        self.counters().skipped
    }

    /// Blocks of which every attempt failed.
    #[getter]
    const fn failed_count(&self) -> u64 {
        self.counters().failed
    }

    /// Blocks that could not run because one that they depend on failed, or the task was abandoned.
    #[getter]
    const fn orphaned_count(&self) -> u64 {
        self.counters().orphaned
    }

    /// Blocks that wait for others.
    #[getter]
    const fn pending_count(&self) -> u64 {
        self.counters().waiting
    }

    /// Attempts that failed, for whatever reason.
    #[getter]
    const fn failed_attempt_count(&self) -> u64 {
        self.counters().failed_attempts
    }

    /// Returns accepted from workers, successes and failures.
    #[getter]
    const fn blocks_processed(&self) -> u64 {
        self.counters().returns
    }

    /// Workers that ended badly, or never connected.
    #[getter]
    const fn worker_failure_count(&self) -> u64 {
        self.counters().worker_deaths + self.counters().workers_never_connected
    }

    /// Workers that were started in the place of one that ended badly.
    #[getter]
    fn worker_restart_count(&self) -> u64 {
        self.worker_failure_count().min(self.counters().workers_launched.saturating_sub(1))
    }

    /// Workers that were started.
    #[getter]
    const fn worker_start_count(&self) -> u64 {
        self.counters().workers_launched
    }

    /// Whether the task was given up.
    #[getter]
    const fn abandoned(&self) -> bool {
        matches!(self.state, CoreState::Abandoned { .. })
    }

    /// Why the task was given up, or None.
    #[getter]
    fn abandon_reason(&self) -> Option<&str> {
        match &self.state {
            CoreState::Abandoned { reason, .. } => Some(reason),
            CoreState::Running(_) | CoreState::Done(_) => None,
        }
    }

    /// How the first worker that ended badly ended, or None.
    #[getter]
    fn first_worker_error(&self) -> Option<&str> {
        self.first_worker_error.as_deref()
    }

    /// How the last worker that ended badly ended, or None.
    #[getter]
    fn last_worker_error(&self) -> Option<&str> {
        self.last_worker_error.as_deref()
    }

    /// Attempts that were taken away because they took longer than the timeout.
    #[getter]
    const fn timeout_reclaim_count(&self) -> u64 {
        self.counters().timeouts
    }

    /// Reports of workers that were refused.
    #[getter]
    const fn refused_report_count(&self) -> u64 {
        self.counters().refused_reports
    }

    /// The timeout of the task in seconds, or None.
    #[getter]
    const fn timeout_secs(&self) -> Option<f64> {
        self.timeout_secs
    }

    /// Whether nothing more will happen to any block.
    const fn is_done(&self) -> bool {
        self.state.has_ended()
    }

    fn __repr__(&self) -> String {
        format!(
            "TaskState(total={}, pending={}, ready={}, processing={}, completed={}, skipped={}, failed={}, orphaned={}{})",
            self.total_block_count(),
            self.pending_count(),
            self.ready_count(),
            self.processing_count(),
            self.completed_count(),
            self.skipped_count(),
            self.failed_count(),
            self.orphaned_count(),
            self.abandon_reason().map_or_else(String::new, |reason| format!(", abandoned: {reason}")),
        )
    }
}
