//! A run with workers: the server's thread does the work, Python starts processes and shows progress.

use std::path::PathBuf;
use std::sync::RwLock;
use std::time::Duration;

use daisy_core::ids::{BlockRef, TaskId, WorkerId};
use daisy_core::run::{Run as CoreRun, Told};
use daisy_core::scheduler::WorkerExit;
use daisy_core::{Error, ErrorKind};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{CoreError, Result};
use crate::outcome::RunOutcome;
use crate::pipeline_plan::PipelinePlan;
use crate::request::Request;
use crate::run_options::RunOptions;
use crate::task_state::TaskState;

/// A run that goes on. Every method may be called from any thread.
#[pyclass(name = "Run", module = "daisy._core", frozen)]
pub(crate) struct Run {
    plan: Py<PipelinePlan>,
    /// `None` once it was joined.
    run: RwLock<Option<CoreRun>>,
}

impl Run {
    fn with<T>(&self, act: impl FnOnce(&CoreRun) -> T) -> Option<T> {
        let run = self.run.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        run.as_ref().map(act)
    }

    fn tell(&self, told: Told) {
        // A run that was joined hears nothing any more, as one that ended does.
        self.with(|run| run.tell(told));
    }
}

#[pymethods]
impl Run {
    /// Binds the server and starts its thread.
    #[new]
    fn new(py: Python<'_>, plan: Py<PipelinePlan>, options: &RunOptions) -> Result<Self> {
        let run = py.detach(|| Ok::<_, CoreError>(CoreRun::start(options.config(plan.get())?)?))?;
        Ok(Self { plan, run: RwLock::new(Some(run)) })
    }

    /// Where workers reach the server, the most likely first.
    #[getter]
    fn addresses(&self) -> Vec<String> {
        self.with(|run| run.addresses().to_vec()).unwrap_or_default()
    }

    /// Writes the run's secret to a new file that only this user can read.
    fn write_token(&self, path: PathBuf) -> Result<()> {
        self.with(|run| run.token().write_file(&path)).unwrap_or(Ok(()))?;
        Ok(())
    }

    /// The next thing to do, waited for at most this many seconds.
    fn next_request(&self, py: Python<'_>, wait: Duration) -> PyResult<Option<Request>> {
        let request = py.detach(|| self.with(|run| run.next_request(wait)).flatten());
        request.map(|request| Request::of(py, request, self.plan.get())).transpose()
    }

    /// The process or thread of a worker ended, or could not be started; `outside`: by no fault of its own.
    #[pyo3(signature = (worker, clean, cause, log_tail, *, outside=false))]
    fn worker_exited(
        &self,
        py: Python<'_>,
        worker: u64,
        clean: bool,
        cause: &str,
        log_tail: &str,
        outside: bool,
    ) {
        let exit = WorkerExit { clean, outside, cause: cause.into(), log_tail: log_tail.into() };
        py.detach(|| self.tell(Told::WorkerExited { worker: WorkerId(worker), exit }));
    }

    /// What started a worker is done; the worker may live on, or come later.
    fn worker_detached(&self, py: Python<'_>, worker: u64, cause: &str, log_tail: &str) {
        let exit = WorkerExit { clean: true, outside: false, cause: cause.into(), log_tail: log_tail.into() };
        py.detach(|| self.tell(Told::WorkerDetached { worker: WorkerId(worker), exit }));
    }

    /// `check_function` has answered.
    fn checked(&self, py: Python<'_>, task: u32, index: u64, done: bool) {
        let block = BlockRef { task: TaskId(task), index };
        py.detach(|| self.tell(Told::Checked { block, done }));
    }

    /// Ends the run: no new blocks, workers killed.
    fn cancel(&self, py: Python<'_>) {
        py.detach(|| self.tell(Told::Cancel));
    }

    /// Changes the most workers of a task.
    fn set_max_workers(&self, py: Python<'_>, task: u32, max_workers: u32) {
        py.detach(|| self.tell(Told::MaxWorkers { task: TaskId(task), max_workers }));
    }

    /// The state of each task by name, a moment old.
    fn snapshot<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let states = py.detach(|| self.with(CoreRun::snapshot)).unwrap_or_default();
        let named = PyDict::new(py);
        let pipeline = &self.plan.get().pipeline;
        for task in pipeline.order() {
            if let Some(state) = states.get(task.index()) {
                let plan = pipeline.task(*task);
                let state = TaskState::running(state.clone(), plan);
                named.set_item(plan.name(), state.into_pyobject(py)?)?;
            }
        }
        Ok(named)
    }

    /// Ids of the workers that are connected now, a moment old.
    fn connected_workers(&self, py: Python<'_>) -> Vec<u64> {
        let workers = py.detach(|| self.with(CoreRun::workers)).unwrap_or_default();
        workers.iter().filter(|view| view.connected).map(|view| view.worker.0).collect()
    }

    /// Waits for the end of the run, once only; returns what it came to, and the error that stopped it.
    fn join(&self, py: Python<'_>) -> Result<(RunOutcome, Option<Py<PyAny>>)> {
        let run = py.detach(|| self.run.write().unwrap_or_else(std::sync::PoisonError::into_inner).take());
        let Some(run) = run else {
            return Err(Error::new(ErrorKind::Refused, "the run was joined before").into());
        };
        let end = py.detach(|| run.join());
        let is_whole = end.outcome.tasks.len() == self.plan.get().pipeline.tasks().len();
        match end.error.map(CoreError::from) {
            Some(error) if !is_whole => Err(error),
            error => {
                let error = error.map(|error| PyErr::from(error).into_value(py).into_any());
                Ok((RunOutcome::new(end.outcome, end.stats, self.plan.clone_ref(py)), error))
            }
        }
    }
}
