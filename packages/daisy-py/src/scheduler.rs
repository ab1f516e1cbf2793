//! `daisy.Scheduler`: order, retries and orphans without workers.

use daisy_core::ids::{BlockRef, TaskId};
use daisy_core::scheduler::{ManualScheduler, Released};
use daisy_core::{Error, ErrorKind};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::block::Block;
use crate::block_status;
use crate::errors::Result;
use crate::graph::DependencyGraph;
use crate::pipeline_plan::PipelinePlan;
use crate::task_state::TaskState;

/// What `daisy.Scheduler` is made of.
#[pyclass(name = "Scheduler", module = "daisy._core", subclass)]
pub(crate) struct Scheduler {
    plan: Py<PipelinePlan>,
    scheduler: ManualScheduler,
    /// The task asked for last, by name: loops ask for the same one again and again.
    last: Option<(String, TaskId)>,
}

impl Scheduler {
    fn find(&mut self, name: &str) -> Option<TaskId> {
        if let Some((last, task)) = &self.last
            && last == name
        {
            return Some(*task);
        }
        let task = self.plan.get().pipeline.find(name)?;
        self.last = Some((name.to_owned(), task));
        Some(task)
    }

    fn state_of(&self, task: TaskId) -> TaskState {
        let plan = self.plan.get().pipeline.task(task);
        TaskState::running(self.scheduler.task_state(task).clone(), plan)
    }

    fn refuse(block: &Block, got: String, expected: &'static str) -> Error {
        Error::new(ErrorKind::Refused, "the block cannot be released")
            .with_context("block", format!("{:?}", block.write()))
            .with_context("got", got)
            .with_context("expected", expected)
    }
}

#[pymethods]
impl Scheduler {
    #[new]
    fn new(plan: Py<PipelinePlan>) -> Self {
        let scheduler = ManualScheduler::new(plan.get().pipeline.clone(), Vec::new());
        Self { plan, scheduler, last: None }
    }

    /// The next ready block of a task, or None if none is ready or there is no such task.
    ///
    /// Parameters
    /// ----------
    /// task_id : str
    ///     Name of the task.
    fn acquire_block(&mut self, task_id: &str) -> Option<Block> {
        let task = self.find(task_id)?;
        let index = self.scheduler.acquire(task)?;
        Some(Block::of(self.plan.get().place(task), index, block_status::PROCESSING))
    }

    /// Gives a block back; its status says how it went.
    ///
    /// Parameters
    /// ----------
    /// block : Block
    ///     One that `acquire_block` gave.
    ///
    /// Raises
    /// ------
    /// RefusedError
    ///     If its status is neither SUCCESS nor FAILED, or the block is not held. Nothing is changed then.
    fn release_block(&mut self, block: &Block) -> Result<()> {
        let succeeded = match block.status_value() {
            block_status::SUCCESS => true,
            block_status::FAILED => false,
            other => {
                let got = format!("status {other}");
                return Err(Self::refuse(block, got, "BlockStatus.SUCCESS or BlockStatus.FAILED").into());
            }
        };
        let name = block.task_name().cloned();
        let task = name.as_deref().and_then(|name| self.find(name));
        let place = task.and_then(|task| {
            let index = block.index_in(&self.plan.get().place(task).layout)?;
            Some(BlockRef { task, index })
        });
        let Some(held) = place else {
            let got = format!("task {:?}", name.as_deref().unwrap_or("None"));
            return Err(Self::refuse(block, got, "a block of a task of this scheduler").into());
        };
        match self.scheduler.release(held, succeeded)? {
            Released::Completed | Released::Retried | Released::Failed => Ok(()),
        }
    }

    /// The state of each task by name.
    #[getter]
    fn task_states<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let states = PyDict::new(py);
        for task in self.plan.get().pipeline.order() {
            let name = self.plan.get().pipeline.task(*task).name();
            states.set_item(name, self.state_of(*task).into_pyobject(py)?)?;
        }
        Ok(states)
    }

    /// Who waits for whom.
    #[getter]
    fn dependency_graph(&self, py: Python<'_>) -> DependencyGraph {
        DependencyGraph::of(self.plan.clone_ref(py))
    }

    /// Names of the tasks that have a block ready.
    fn ready_tasks(&self) -> Vec<String> {
        let pipeline = &self.plan.get().pipeline;
        let ready =
            pipeline.order().iter().filter(|task| self.scheduler.task_state(**task).counters().ready > 0);
        ready.map(|task| pipeline.task(*task).name().to_owned()).collect()
    }
}
