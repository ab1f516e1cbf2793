//! A run in the caller's thread, without sockets: an exception of the user's ends it and comes out as itself.

use std::sync::{Arc, Mutex, PoisonError};

use daisy_core::ids::BlockRef;
use daisy_core::run::{SerialRun as CoreRun, SerialWork, Step};
use daisy_core::scheduler::TaskState as CoreState;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::block::Block;
use crate::block_call::{BlockCall, unfinished};
use crate::block_status::{CREATED, failure_text};
use crate::errors::{CoreError, Result};
use crate::outcome::RunOutcome;
use crate::pipeline_plan::PipelinePlan;
use crate::run_options::RunOptions;
use crate::task_state::TaskState;

/// A run in the caller's thread.
#[pyclass(name = "SerialRun", module = "daisy._core", frozen)]
pub(crate) struct SerialRun {
    plan: Py<PipelinePlan>,
    states: Arc<Mutex<Vec<CoreState>>>,
}

#[pymethods]
impl SerialRun {
    #[new]
    fn new(plan: Py<PipelinePlan>) -> Self {
        let total = |task: &daisy_core::plan::TaskPlan| task.layout().block_count();
        let counters =
            |total| daisy_core::scheduler::Counters { total, waiting: total, ..Default::default() };
        let tasks = plan.get().pipeline.tasks();
        let states = tasks.iter().map(|task| CoreState::Running(counters(total(task)))).collect();
        Self { plan, states: Arc::new(Mutex::new(states)) }
    }

    /// Runs to the end, or to the first exception; returns what it came to, and the exception.
    ///
    /// `functions`, `meters` and `checks` have an entry per task. No block begins after `interrupted()` is true: a
    /// block may have swallowed the exception of Ctrl-C.
    fn run(
        &self,
        py: Python<'_>,
        options: &RunOptions,
        functions: Vec<Py<PyAny>>,
        meters: Vec<Option<Py<PyAny>>>,
        checks: Vec<Option<Py<PyAny>>>,
        interrupted: Py<PyAny>,
    ) -> Result<(RunOutcome, Option<Py<PyAny>>)> {
        let calls = functions.into_iter().zip(meters).map(|(f, meter)| BlockCall::new(f, meter)).collect();
        let plan = self.plan.get();
        let mut work = Work { py, plan, calls, checks, interrupted, states: &self.states, error: None };
        let run = py.detach(|| Ok::<_, CoreError>(CoreRun::new(options.config(plan)?)?))?;
        let end = run.run(&mut work);
        let error = work.error.or_else(|| end.error.map(|error| CoreError::from(error).into()));
        let outcome = RunOutcome::new(end.outcome, end.stats, self.plan.clone_ref(py));
        Ok((outcome, error.map(|error| error.into_value(py).into_any())))
    }

    /// The state of each task by name, a moment old.
    fn snapshot<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let named = PyDict::new(py);
        let pipeline = &self.plan.get().pipeline;
        let states = self.states.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for task in pipeline.order() {
            let plan = pipeline.task(*task);
            let state = TaskState::running(states[task.index()].clone(), plan);
            named.set_item(plan.name(), state.into_pyobject(py)?)?;
        }
        Ok(named)
    }
}

/// What the driver calls back.
struct Work<'a> {
    py: Python<'a>,
    plan: &'a PipelinePlan,
    calls: Vec<BlockCall>,
    checks: Vec<Option<Py<PyAny>>>,
    interrupted: Py<PyAny>,
    states: &'a Mutex<Vec<CoreState>>,
    error: Option<PyErr>,
}

impl Work<'_> {
    fn abort(&mut self, error: PyErr) -> Step {
        self.error.get_or_insert(error);
        Step::Abort
    }

    fn look_for_interrupt(&self) -> PyResult<()> {
        self.py.check_signals()?;
        if self.interrupted.call0(self.py)?.is_truthy(self.py)? {
            return Err(PyKeyboardInterrupt::new_err(()));
        }
        Ok(())
    }
}

impl SerialWork for Work<'_> {
    fn process(&mut self, block: BlockRef, _attempt: u32) -> Step {
        let place = self.plan.place(block.task);
        let called = self
            .look_for_interrupt()
            .and_then(|()| self.calls[block.task.index()].call(self.py, place, block.index));
        match called {
            Err(error) => self.abort(error),
            Ok(called) => match called.error {
                Some(error) => self.abort(error),
                None => Step::Ran {
                    outcome: called.outcome(|| failure_text(called.left)),
                    measurement: called.measurement,
                },
            },
        }
    }

    fn check(&mut self, block: BlockRef) -> Option<bool> {
        let Some(check) = &self.checks[block.task.index()] else { return Some(false) };
        let object = Block::of(self.plan.place(block.task), block.index, CREATED);
        let answer =
            self.look_for_interrupt().and_then(|()| check.call1(self.py, (object,))).and_then(|answer| {
                match unfinished(answer.bind(self.py), "check_function") {
                    Some(error) => Err(error),
                    None => answer.is_truthy(self.py),
                }
            });
        answer.map_err(|error| self.error.get_or_insert(error).clone_ref(self.py)).ok()
    }

    fn observe(&mut self, states: &[CoreState]) {
        *self.states.lock().unwrap_or_else(PoisonError::into_inner) = states.to_vec();
    }
}
