//! Which block of a pipeline waits for which, for inspection from Python.

use std::sync::Arc;

use daisy_core::geometry::GridBox;
use daisy_core::graph::{readers, writers};
use daisy_core::ids::TaskId;
use daisy_core::{Error, ErrorKind};
use pyo3::prelude::*;

use crate::block::Block;
use crate::block_iterator::BlockIterator;
use crate::errors::Result;
use crate::pipeline_plan::PipelinePlan;
use crate::task_graph::{BlockwiseDependencyGraph, index_of};

/// The blocks of a whole pipeline, and which waits for which.
#[pyclass(name = "DependencyGraph", module = "daisy._core", frozen, subclass)]
pub(crate) struct DependencyGraph {
    plan: Py<PipelinePlan>,
}

impl DependencyGraph {
    /// The graph of this pipeline.
    pub(crate) const fn of(plan: Py<PipelinePlan>) -> Self {
        Self { plan }
    }

    fn locate(&self, block: &Block) -> Result<(TaskId, u64)> {
        let plan = self.plan.get();
        let found = block.task_name().and_then(|name| plan.pipeline.find(name));
        let Some(task) = found else {
            return Err(Error::new(ErrorKind::InvalidArgument, "the block is of no task of this graph")
                .with_context("got", block.task_name().map_or("None", |name| name))
                .with_context("expected", "a block of one of its tasks")
                .into());
        };
        Ok((task, index_of(plan.place(task), block)?))
    }

    fn graph_of(&self, task: TaskId) -> BlockwiseDependencyGraph {
        let plan = self.plan.get();
        let conflict = plan.pipeline.task(task).options().read_write_conflict;
        BlockwiseDependencyGraph::with(Arc::clone(plan.place(task)), conflict)
    }

    fn across(&self, task: TaskId, cells: &GridBox) -> BlockIterator {
        BlockIterator::over(self.plan.get().place(task), *cells)
    }
}

#[pymethods]
impl DependencyGraph {
    #[new]
    const fn new(plan: Py<PipelinePlan>) -> Self {
        Self::of(plan)
    }

    /// Names of the tasks.
    #[getter]
    fn task_ids(&self) -> Vec<String> {
        self.plan.get().pipeline.tasks().iter().map(|task| task.name().to_owned()).collect()
    }

    /// Number of blocks of a task.
    ///
    /// Parameters
    /// ----------
    /// task_id : str
    ///     Name of the task.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     There is no such task.
    fn num_blocks(&self, task_id: &str) -> Result<u64> {
        let pipeline = &self.plan.get().pipeline;
        match pipeline.find(task_id) {
            Some(task) => Ok(pipeline.task(task).layout().block_count()),
            None => Err(Error::new(ErrorKind::InvalidArgument, "there is no such task")
                .with_context("got", task_id)
                .into()),
        }
    }

    /// The blocks that this one waits for, of its task and of others.
    ///
    /// Parameters
    /// ----------
    /// block : Block
    ///     A block of one of the tasks.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     It is no block of these tasks.
    fn upstream(&self, block: &Block) -> Result<Vec<Block>> {
        let (task, index) = self.locate(block)?;
        let pipeline = &self.plan.get().pipeline;
        let mut blocks = self.graph_of(task).upstream(block)?;
        for up in pipeline.upstream(task) {
            let cells = writers(pipeline.task(*up).layout(), pipeline.task(task).layout(), index);
            blocks.extend(self.across(*up, &cells));
        }
        Ok(blocks)
    }

    /// The blocks that wait for this one, of its task and of others.
    ///
    /// Parameters
    /// ----------
    /// block : Block
    ///     A block of one of the tasks.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     It is no block of these tasks.
    fn downstream(&self, block: &Block) -> Result<Vec<Block>> {
        let (task, index) = self.locate(block)?;
        let pipeline = &self.plan.get().pipeline;
        let mut blocks = self.graph_of(task).downstream(block)?;
        for down in pipeline.downstream(task) {
            let cells = readers(pipeline.task(task).layout(), pipeline.task(*down).layout(), index);
            blocks.extend(self.across(*down, &cells));
        }
        Ok(blocks)
    }

    /// Names of the tasks that read from no other.
    fn root_tasks(&self) -> Vec<String> {
        let pipeline = &self.plan.get().pipeline;
        let roots = pipeline.task_ids().filter(|task| pipeline.upstream(*task).is_empty());
        roots.map(|task| pipeline.task(task).name().to_owned()).collect()
    }

    /// Blocks of the tasks that read from no other which wait for nothing, by task.
    fn roots(&self) -> Vec<(String, BlockIterator)> {
        let pipeline = &self.plan.get().pipeline;
        let roots = pipeline.task_ids().filter(|task| pipeline.upstream(*task).is_empty());
        roots.map(|task| (pipeline.task(task).name().to_owned(), self.graph_of(task).root_gen())).collect()
    }
}
