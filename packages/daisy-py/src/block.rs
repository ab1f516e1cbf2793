//! `daisy.Block`: one unit of work. ROIs are made when they are first asked for.

use std::sync::Arc;

use daisy_core::geometry::Roi;
use daisy_core::plan::{BlockLayout, Fit};
use pyo3::basic::CompareOp;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;

use crate::block_stats::BlockStats;
use crate::block_status;
use crate::errors::CoreError;
use crate::roi::{roi_argument, to_funlib};

/// Name and geometry of a task, shared by its blocks.
pub(crate) struct TaskPlace {
    pub(crate) name: Arc<str>,
    pub(crate) layout: BlockLayout,
}

/// Where a block is: computed from its index, or told by the user.
enum Place {
    Computed { task: Arc<TaskPlace>, index: u64 },
    Told(Box<Told>),
}

/// A block as the user describes it.
#[derive(Clone)]
struct Told {
    task: Option<Arc<str>>,
    id: u64,
    total: Roi,
    read: Roi,
    write: Roi,
}

/// One block: what may be read, what must be written, and how it went.
///
/// Parameters
/// ----------
/// total_roi, read_roi, write_roi : Roi
///     In world units. The total ROI includes the context.
/// task_id : str, optional
///     The name of the task.
/// block_id : int, optional
///     The public number of the block; computed from its place if it is not given.
///
/// Raises
/// ------
/// TypeError, ValueError
///     A wrong argument.
///
/// >>> import daisy
/// >>> total, cell = daisy.Roi((0, 0), (40, 40)), daisy.Roi((10, 0), (10, 10))
/// >>> block = daisy.Block(total, cell, cell, "copy")
/// >>> block.block_id, block.write_roi.begin, block.status.name
/// (('copy', 2), (10, 0), 'CREATED')
/// >>> block.copy() == block
/// True
#[pyclass(name = "Block", module = "daisy")]
pub(crate) struct Block {
    place: Place,
    status: u8,
    stats: Option<Py<BlockStats>>,
    read_roi: PyOnceLock<Py<PyAny>>,
    write_roi: PyOnceLock<Py<PyAny>>,
}

impl Block {
    fn at(place: Place) -> Self {
        Self {
            place,
            status: block_status::CREATED,
            stats: None,
            read_roi: PyOnceLock::new(),
            write_roi: PyOnceLock::new(),
        }
    }

    /// The block of a task with this index.
    pub(crate) fn of(task: &Arc<TaskPlace>, index: u64, status: u8) -> Self {
        Self { status, ..Self::at(Place::Computed { task: Arc::clone(task), index }) }
    }

    /// The index in the layout it was made from, or the one that its id has in `layout`.
    pub(crate) fn index_in(&self, layout: &BlockLayout) -> Option<u64> {
        match &self.place {
            Place::Computed { task, index } if task.layout == *layout => Some(*index),
            _ => layout.index_of_id(self.id()),
        }
    }

    pub(crate) const fn status_value(&self) -> u8 {
        self.status
    }

    pub(crate) const fn set_status_value(&mut self, status: u8) {
        self.status = status;
    }

    pub(crate) const fn attached_stats(&self) -> Option<&Py<BlockStats>> {
        self.stats.as_ref()
    }

    fn id(&self) -> u64 {
        match &self.place {
            Place::Computed { task, index } => task.layout.block_id(*index),
            Place::Told(told) => told.id,
        }
    }

    pub(crate) fn task_name(&self) -> Option<&Arc<str>> {
        match &self.place {
            Place::Computed { task, .. } => Some(&task.name),
            Place::Told(told) => told.task.as_ref(),
        }
    }

    pub(crate) fn read(&self) -> Roi {
        match &self.place {
            Place::Computed { task, index } => task.layout.read_roi(*index),
            Place::Told(told) => told.read,
        }
    }

    pub(crate) fn write(&self) -> Roi {
        match &self.place {
            Place::Computed { task, index } => task.layout.write_roi(*index),
            Place::Told(told) => told.write,
        }
    }

    fn total(&self) -> Roi {
        match &self.place {
            Place::Computed { task, .. } => task.layout.total_roi(),
            Place::Told(told) => told.total,
        }
    }
}

/// A block id as users have them: the number, or the pair `(task_id, number)`.
#[derive(FromPyObject)]
enum BlockIdArg {
    Number(u64),
    Pair(Option<String>, u64),
}

#[pymethods]
impl Block {
    #[new]
    #[pyo3(signature = (total_roi, read_roi, write_roi, task_id=None, block_id=None))]
    fn new(
        total_roi: &Bound<'_, PyAny>,
        read_roi: &Bound<'_, PyAny>,
        write_roi: &Bound<'_, PyAny>,
        task_id: Option<String>,
        block_id: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let total = roi_argument("total_roi", total_roi)?;
        let (read, write) = (roi_argument("read_roi", read_roi)?, roi_argument("write_roi", write_roi)?);
        let (task, id) = match block_id {
            None => (task_id, id_of_place(&total, &write)?),
            Some(block_id) => match block_id.extract() {
                Ok(BlockIdArg::Number(number)) => (task_id, number),
                Ok(BlockIdArg::Pair(name, number)) => (task_id.or(name), number),
                Err(_) => {
                    return Err(PyTypeError::new_err(format!(
                        "argument 'block_id': expected an integer of at least 0 or (task_id, integer), got {}",
                        block_id.repr()?
                    )));
                }
            },
        };
        let told = Told { task: task.map(Arc::from), id, total, read, write };
        Ok(Self::at(Place::Told(Box::new(told))))
    }

    /// What may be read, in world units.
    #[getter]
    fn read_roi(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let roi = self.read_roi.get_or_try_init(py, || to_funlib(py, &self.read()).map(Bound::unbind))?;
        Ok(roi.clone_ref(py))
    }

    /// What must be written, in world units.
    #[getter]
    fn write_roi(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let roi = self.write_roi.get_or_try_init(py, || to_funlib(py, &self.write()).map(Bound::unbind))?;
        Ok(roi.clone_ref(py))
    }

    /// The write ROI before it was cut at the edge of the volume.
    #[getter]
    fn requested_write_roi<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match &self.place {
            Place::Computed { task, .. } => {
                let whole =
                    Roi::new(&self.write().begin(), &task.layout.block_shape()).map_err(CoreError::from)?;
                to_funlib(py, &whole)
            }
            Place::Told(told) => to_funlib(py, &told.write),
        }
    }

    /// The total ROI of the task.
    #[getter]
    fn total_roi<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_funlib(py, &self.total())
    }

    /// `(task_id, number)`: the same in every run with the same total ROI begin and block shape.
    #[getter]
    fn block_id(&self) -> (Option<&str>, u64) {
        (self.task_name().map(AsRef::as_ref), self.id())
    }

    /// The name of the task.
    #[getter]
    fn task_id(&self) -> Option<&str> {
        self.task_name().map(AsRef::as_ref)
    }

    /// How the block stands; set it to `BlockStatus.FAILED` to fail without an exception.
    #[getter]
    fn status(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        block_status::member(py, self.status)
    }

    #[setter]
    fn set_status(&mut self, status: &Bound<'_, PyAny>) -> PyResult<()> {
        self.status = block_status::value(status)?;
        Ok(())
    }

    /// What was measured of the block, or None.
    #[getter]
    fn stats(&self, py: Python<'_>) -> Option<Py<BlockStats>> {
        self.stats.as_ref().map(|stats| stats.clone_ref(py))
    }

    #[setter]
    fn set_stats(&mut self, stats: Option<Py<BlockStats>>) {
        self.stats = stats;
    }

    /// A block of its own with the same values.
    fn copy(&self, py: Python<'_>) -> Self {
        let place = match &self.place {
            Place::Computed { task, index } => Place::Computed { task: Arc::clone(task), index: *index },
            Place::Told(told) => Place::Told(told.clone()),
        };
        Self { status: self.status, stats: self.stats(py), ..Self::at(place) }
    }

    fn __copy__(&self, py: Python<'_>) -> Self {
        self.copy(py)
    }

    fn __deepcopy__(&self, py: Python<'_>, _memo: Bound<'_, PyAny>) -> Self {
        self.copy(py)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        let block = slf.borrow();
        let arguments = (
            to_funlib(py, &block.total())?,
            to_funlib(py, &block.read())?,
            to_funlib(py, &block.write())?,
            block.task_id(),
            block.id(),
        );
        let state = (block.status, block.stats(py));
        (slf.get_type(), arguments, state).into_pyobject(py)
    }

    fn __setstate__(&mut self, state: (u8, Option<Py<BlockStats>>)) {
        (self.status, self.stats) = state;
    }

    fn __richcmp__(&self, other: &Self, op: CompareOp) -> bool {
        let same = self.id() == other.id() && self.task_name() == other.task_name();
        match op {
            CompareOp::Eq => same,
            CompareOp::Ne => !same,
            _ => op.matches(self.id().cmp(&other.id())),
        }
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        self.block_id().into_pyobject(py)?.hash()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let status: String = block_status::member(py, self.status)?.getattr(py, "name")?.extract(py)?;
        Ok(format!(
            "Block(task_id={}, block_id={}, read_roi={}, write_roi={}, status={status})",
            self.task_name().map_or_else(|| "None".to_owned(), |name| format!("{name:?}")),
            self.id(),
            self.read(),
            self.write(),
        ))
    }
}

/// The id that a block with this write ROI has: a layout without context, begun at the total ROI.
fn id_of_place(total: &Roi, write: &Roi) -> PyResult<u64> {
    let dims = total.dims();
    if write.dims() != dims {
        return Err(pyo3::exceptions::PyValueError::new_err(format!(
            "argument 'write_roi': expected {dims} dimensions as in total_roi, got {}",
            write.dims()
        )));
    }
    let inside = |axis: usize| {
        let begin = write.begin()[axis];
        (write.shape()[axis] > 0).then(|| (begin - total.begin()[axis]).max(0) / write.shape()[axis])
    };
    let Some(cells) = (0..dims).map(inside).collect::<Option<Vec<i64>>>() else { return Ok(0) };
    // One block at that cell of a grid whose first cells are context gives exactly this id.
    let far: Vec<i64> = (0..dims)
        .map(|axis| total.begin()[axis].saturating_add(cells[axis].saturating_mul(write.shape()[axis])))
        .collect();
    let cell = Roi::new(&far, &write.shape()).map_err(CoreError::from)?;
    let shape: Vec<i64> = (0..dims).map(|axis| cell.end()[axis] - total.begin()[axis]).collect();
    let read = Roi::new(&total.begin(), &shape).map_err(CoreError::from)?;
    let layout = BlockLayout::new(read, read, cell, Fit::Valid).map_err(CoreError::from)?;
    Ok(layout.block_id(0))
}
