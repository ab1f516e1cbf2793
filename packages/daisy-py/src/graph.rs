//! Who waits for whom, for inspection from Python.

use std::sync::Arc;

use daisy_core::geometry::{GridBox, Position, Roi};
use daisy_core::graph::{Levels, Within, readers, writers};
use daisy_core::ids::TaskId;
use daisy_core::plan::BlockLayout;
use daisy_core::{Error, ErrorKind};
use pyo3::prelude::*;

use crate::block::{Block, TaskPlace};
use crate::block_status::CREATED;
use crate::errors::{CoreError, Result};
use crate::pipeline_plan::PipelinePlan;
use crate::roi::{RoiArg, fit_from, to_funlib};

/// The blocks of one task, and which waits for which.
///
/// Parameters
/// ----------
/// task_id : str
/// read_roi, write_roi : Roi
///     Of a block.
/// read_write_conflict : bool
///     Whether a block may not run while another writes what it reads.
/// fit : {"valid", "overhang", "shrink"}
/// total_read_roi : Roi, optional
///     The volume, context included.
/// total_write_roi : Roi, optional
///     The volume without the context; one of the two must be given.
///
/// Raises
/// ------
/// ValueError
///     A geometry that cannot be, or no volume.
///
/// >>> import daisy
/// >>> total, read, write = daisy.Roi((0,), (50,)), daisy.Roi((0,), (14,)), daisy.Roi((2,), (10,))
/// >>> graph = daisy.BlockwiseDependencyGraph("smooth", read, write, True, "valid", total)
/// >>> graph.num_blocks, graph.num_levels, graph.num_roots()
/// (4, 2, 2)
/// >>> root = next(graph.root_gen())
/// >>> [block.write_roi.begin[0] for block in graph.downstream(root)]
/// [2, 22]
/// >>> [len(graph.upstream(block)) for block in graph.level_blocks(1)]
/// [1, 2]
/// >>> sum(len(upstream) for block, upstream in graph.enumerate_all_dependencies())
/// 3
/// >>> len(graph.get_subgraph_blocks(daisy.Roi((0,), (20,))))
/// 2
#[pyclass(name = "BlockwiseDependencyGraph", module = "daisy", frozen)]
pub(crate) struct BlockwiseDependencyGraph {
    place: Arc<TaskPlace>,
    within: Within,
}

impl BlockwiseDependencyGraph {
    fn with(place: Arc<TaskPlace>, read_write_conflict: bool) -> Self {
        let within = Within::new(&place.layout, read_write_conflict);
        Self { place, within }
    }

    fn blocks_in(&self, cells: &GridBox) -> BlockIterator {
        BlockIterator::over(&self.place, *cells)
    }

    fn require(&self, block: &Block) -> Result<u64> {
        index_of(&self.place, block)
    }
}

fn index_of(place: &TaskPlace, block: &Block) -> Result<u64> {
    block.index_in(&place.layout).ok_or_else(|| {
        Error::new(ErrorKind::InvalidArgument, "the task has no such block")
            .with_context("task", &place.name)
            .with_context("got", format!("{:?}", block.write()))
            .with_context("expected", "a block of this task")
            .into()
    })
}

#[pymethods]
impl BlockwiseDependencyGraph {
    #[new]
    #[pyo3(signature = (task_id, read_roi, write_roi, read_write_conflict, fit, total_read_roi=None, total_write_roi=None))]
    fn new(
        task_id: &str,
        read_roi: RoiArg,
        write_roi: RoiArg,
        read_write_conflict: bool,
        fit: &Bound<'_, PyAny>,
        total_read_roi: Option<RoiArg>,
        total_write_roi: Option<RoiArg>,
    ) -> PyResult<Self> {
        let (read, write) = (read_roi.0, write_roi.0);
        let total = match (total_read_roi, total_write_roi) {
            (Some(total), _) => total.0,
            (None, Some(total)) => grown(&total.0, &read, &write)?,
            (None, None) => {
                return Err(pyo3::exceptions::PyTypeError::new_err(
                    "one of total_read_roi and total_write_roi must be given",
                ));
            }
        };
        let layout = BlockLayout::new(total, read, write, fit_from(fit)?).map_err(CoreError::from)?;
        let place = Arc::new(TaskPlace { name: task_id.into(), layout });
        Ok(Self::with(place, read_write_conflict))
    }

    /// Number of blocks.
    #[getter]
    fn num_blocks(&self) -> u64 {
        self.place.layout.block_count()
    }

    /// Number of groups of blocks that can never conflict.
    #[getter]
    const fn num_levels(&self) -> u64 {
        self.within.levels().count()
    }

    /// The volume without the context.
    #[getter]
    fn total_write_roi<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_funlib(py, &self.place.layout.total_write_roi())
    }

    /// Number of blocks that wait for no other.
    fn num_roots(&self) -> u64 {
        self.within.levels().count_in(0, &self.place.layout.grid().whole())
    }

    /// The blocks that wait for no other.
    fn root_gen(&self) -> BlockIterator {
        BlockIterator {
            level: Some((*self.within.levels(), 0)),
            ..self.blocks_in(&self.place.layout.grid().whole())
        }
    }

    /// The blocks of one level.
    ///
    /// Parameters
    /// ----------
    /// level : int
    ///     From 0 to `num_levels` - 1.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     There is no such level.
    fn level_blocks(&self, level: u64) -> Result<BlockIterator> {
        if level >= self.num_levels() {
            return Err(Error::new(ErrorKind::InvalidArgument, "there is no such level")
                .with_context("got", level)
                .with_context("expected", format!("below {}", self.num_levels()))
                .into());
        }
        let all = self.blocks_in(&self.place.layout.grid().whole());
        Ok(BlockIterator { level: Some((*self.within.levels(), level)), ..all })
    }

    /// Every block with the blocks that it waits for.
    fn enumerate_all_dependencies(&self) -> DependencyIterator {
        DependencyIterator {
            graph: Self { place: Arc::clone(&self.place), within: self.within },
            level: 0,
            blocks: self.root_gen(),
        }
    }

    /// The blocks of the task that this one waits for.
    ///
    /// Parameters
    /// ----------
    /// block : Block
    ///     A block of the task.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     It is no block of the task.
    fn upstream(&self, block: &Block) -> Result<Vec<Block>> {
        let position = self.place.layout.grid().position(self.require(block)?);
        let mut blocks = Vec::new();
        self.within.for_each_predecessor(&position, &mut |index| {
            blocks.push(Block::of(&self.place, index, CREATED));
        });
        Ok(blocks)
    }

    /// The blocks of the task that wait for this one.
    ///
    /// Parameters
    /// ----------
    /// block : Block
    ///     A block of the task.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     It is no block of the task.
    fn downstream(&self, block: &Block) -> Result<Vec<Block>> {
        let position = self.place.layout.grid().position(self.require(block)?);
        let mut blocks = Vec::new();
        self.within.for_each_successor(&position, &mut |index| {
            blocks.push(Block::of(&self.place, index, CREATED));
        });
        Ok(blocks)
    }

    /// The blocks whose write ROI (or read ROI) meets `roi`.
    ///
    /// Parameters
    /// ----------
    /// roi : Roi
    ///     In world units.
    /// read_roi : bool
    ///     Whether the read ROIs are looked at instead of the write ROIs.
    #[pyo3(signature = (roi, read_roi=false))]
    fn get_subgraph_blocks(&self, roi: RoiArg, read_roi: bool) -> Result<Vec<Block>> {
        let layout = &self.place.layout;
        if roi.0.dims() != layout.dims() {
            return Err(Error::new(ErrorKind::InvalidArgument, "roi has another rank than the task")
                .with_context("got", roi.0.dims())
                .with_context("expected", layout.dims())
                .into());
        }
        let cells = if read_roi { layout.readers_of(&roi.0) } else { layout.writers_of(&roi.0) };
        Ok(self.blocks_in(&cells).collect())
    }
}

fn grown(total: &Roi, read: &Roi, write: &Roi) -> PyResult<Roi> {
    let dims = total.dims();
    if read.dims() != dims || write.dims() != dims {
        return Ok(*total); // the layout refuses it with all three ranks
    }
    let context = |axis: usize| write.begin()[axis].saturating_sub(read.begin()[axis]);
    let begin: Vec<i64> = (0..dims).map(|a| total.begin()[a].saturating_sub(context(a))).collect();
    let shape: Vec<i64> = (0..dims)
        .map(|a| total.shape()[a].saturating_add(read.shape()[a].saturating_sub(write.shape()[a])))
        .collect();
    Ok(Roi::new(&begin, &shape).map_err(CoreError::from)?)
}

/// Blocks of a box of the grid, or those of one level in it, row-major.
#[pyclass(name = "BlockIterator", module = "daisy._core")]
pub(crate) struct BlockIterator {
    place: Arc<TaskPlace>,
    cells: GridBox,
    level: Option<(Levels, u64)>,
    next: Option<Position>,
    started: bool,
}

impl BlockIterator {
    fn over(place: &Arc<TaskPlace>, cells: GridBox) -> Self {
        Self { place: Arc::clone(place), cells, level: None, next: None, started: false }
    }

    /// First position and step per axis.
    fn lattice(&self) -> (Position, Position) {
        match &self.level {
            None => (self.cells.begin, [1; daisy_core::geometry::MAX_DIMS]),
            Some((levels, level)) => {
                let mut steps = [1; daisy_core::geometry::MAX_DIMS];
                steps[..levels.period().len()].copy_from_slice(levels.period());
                (levels.offset(*level), steps)
            }
        }
    }
}

impl Iterator for BlockIterator {
    type Item = Block;

    fn next(&mut self) -> Option<Block> {
        let (first, steps) = self.lattice();
        if !self.started {
            self.started = true;
            self.next = self.cells.contains(&first).then_some(first);
        }
        let current = self.next?;
        let mut following = current;
        self.next = None;
        for axis in (0..self.cells.dims()).rev() {
            following[axis] += steps[axis];
            if following[axis] < self.cells.end[axis] {
                self.next = Some(following);
                break;
            }
            following[axis] = first[axis];
        }
        Some(Block::of(&self.place, self.place.layout.grid().index(&current), CREATED))
    }
}

#[pymethods]
impl BlockIterator {
    const fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&mut self) -> Option<Block> {
        self.next()
    }
}

/// `(block, [blocks that it waits for])`, level by level.
#[pyclass(name = "DependencyIterator", module = "daisy._core")]
pub(crate) struct DependencyIterator {
    graph: BlockwiseDependencyGraph,
    level: u64,
    blocks: BlockIterator,
}

#[pymethods]
impl DependencyIterator {
    const fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&mut self) -> Result<Option<(Block, Vec<Block>)>> {
        loop {
            if let Some(block) = self.blocks.next() {
                let upstream = self.graph.upstream(&block)?;
                return Ok(Some((block, upstream)));
            }
            self.level += 1;
            if self.level >= self.graph.num_levels() {
                return Ok(None);
            }
            self.blocks = self.graph.level_blocks(self.level)?;
        }
    }
}

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
