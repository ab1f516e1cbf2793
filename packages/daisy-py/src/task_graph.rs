//! Which block of a task waits for which, for inspection from Python.

use std::sync::Arc;

use daisy_core::geometry::{GridBox, Roi};
use daisy_core::graph::Within;
use daisy_core::plan::BlockLayout;
use daisy_core::{Error, ErrorKind};
use pyo3::prelude::*;

use crate::block::{Block, TaskPlace};
use crate::block_iterator::BlockIterator;
use crate::block_status::CREATED;
use crate::errors::{CoreError, Result};
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
    pub(crate) fn with(place: Arc<TaskPlace>, read_write_conflict: bool) -> Self {
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

/// The index of `block` in its grid; an error if the task has no such block.
pub(crate) fn index_of(place: &TaskPlace, block: &Block) -> Result<u64> {
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
    pub(crate) fn root_gen(&self) -> BlockIterator {
        self.blocks_in(&self.place.layout.grid().whole()).at_level(*self.within.levels(), 0)
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
        Ok(all.at_level(*self.within.levels(), level))
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
    pub(crate) fn upstream(&self, block: &Block) -> Result<Vec<Block>> {
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
    pub(crate) fn downstream(&self, block: &Block) -> Result<Vec<Block>> {
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
