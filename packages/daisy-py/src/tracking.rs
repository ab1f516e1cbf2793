//! Tracking stores: opened by Python, handed to the run, which writes them.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use daisy_core::geometry::IndexSet;
use daisy_core::marks::MarkSink;
use daisy_core::run::inspect_store;
use daisy_core::scheduler::Prior;
use daisy_core::tracking::{self, ReadStore, Store, StoreOptions, TrackingSink};
use daisy_core::{Error, ErrorKind};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::errors::Result;
use crate::task_plan::TaskPlan;

/// The tracking store of one task, open and locked for one run.
#[pyclass(name = "TrackingStore", module = "daisy._core", frozen)]
pub(crate) struct TrackingStore {
    /// `None` once a run has taken it.
    store: Mutex<Option<Store>>,
    #[pyo3(get)]
    path: PathBuf,
    /// Lines for the log.
    #[pyo3(get)]
    notices: Vec<String>,
}

#[pymethods]
impl TrackingStore {
    /// Opens the store of a task, or makes it. `host` is the name of this machine, for the lock; `mask` has a byte per
    /// block, `settings` is JSON, and both are kept with it.
    #[new]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        plan: &Bound<'_, TaskPlan>,
        host: String,
        measured: bool,
        settings: &str,
        mask: Option<PyBackedBytes>,
    ) -> Result<Self> {
        let plan = &plan.get().plan;
        let settings = serde_json::from_str(settings).ok();
        let options = StoreOptions { host, measured, settings };
        let store = py.detach(|| {
            let store = Store::open(&path, plan, &options)?;
            store.keep_mask(mask.as_deref()).map(|()| store)
        })?;
        let notices = store.notices().to_vec();
        Ok(Self { store: Mutex::new(Some(store)), path, notices })
    }

    /// Releases the lock of a store that no run has taken.
    fn close(&self, py: Python<'_>) -> Result<()> {
        match self.take() {
            Some(store) => Ok(py.detach(|| store.close())?),
            None => Ok(()),
        }
    }
}

impl TrackingStore {
    fn take(&self) -> Option<Store> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn done(&self) -> Result<Option<IndexSet>> {
        let store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(store.as_ref().map(Store::done).transpose()?)
    }
}

/// What a task does not have to do: `mask` has a byte per block, row-major, nonzero where it is masked out.
pub(crate) fn prior(store: Option<&TrackingStore>, mask: Option<&[u8]>, blocks: u64) -> Result<Prior> {
    let done = store.map(TrackingStore::done).transpose()?.flatten();
    let masked = mask.map(|cells| tracking::mask_indices(cells, blocks)).transpose()?;
    Ok(Prior { done, masked })
}

/// The stores of a run, in the order of its tasks, as what takes its marks; `None` if no task has one.
pub(crate) fn sink(stores: &[Option<Py<TrackingStore>>]) -> Result<Option<Box<dyn MarkSink>>> {
    if stores.iter().all(Option::is_none) {
        return Ok(None);
    }
    let mut taken = Vec::with_capacity(stores.len());
    for store in stores {
        taken.push(match store {
            None => None,
            Some(store) => Some(store.get().take().ok_or_else(|| {
                Error::new(ErrorKind::Store, "a tracking store was handed to a run before; open it again")
            })?),
        });
    }
    Ok(Some(Box::new(TrackingSink::new(taken)?)))
}

/// Deletes the tracking store at a path, and nothing else; whether there was one.
#[pyfunction]
pub(crate) fn reset_tracking(py: Python<'_>, path: PathBuf, host: &str) -> Result<bool> {
    Ok(py.detach(|| tracking::reset(&path, host))?)
}

/// A mask with a byte per block of a grid of this shape: 1 in these boxes, which are pairs of positions, 0 elsewhere.
#[pyfunction]
pub(crate) fn mask_of_boxes(
    py: Python<'_>,
    shape: Vec<u64>,
    boxes: Vec<(Vec<u64>, Vec<u64>)>,
) -> PyResult<Bound<'_, PyBytes>> {
    let count = usize::try_from(shape.iter().product::<u64>()).unwrap_or(usize::MAX);
    PyBytes::new_with(py, count, |cells| {
        tracking::mask_boxes(cells, &shape, &boxes)
            .map_err(|error| crate::errors::CoreError::from(error).into())
    })
}

/// JSON, states, seconds.
type Inspected<'py> = (String, Bound<'py, PyBytes>, Bound<'py, PyBytes>);

/// What the store at a path holds: JSON, and per block a byte of state and a little-endian 32-bit float of seconds,
/// row-major, both empty for a task that is too large; `None` if no store is there.
#[pyfunction]
pub(crate) fn inspect_tracking<'py>(
    py: Python<'py>,
    path: PathBuf,
    host: &str,
) -> Result<Option<Inspected<'py>>> {
    let Some(facts) = py.detach(|| inspect_store(&path, host))? else { return Ok(None) };
    let text =
        serde_json::to_string(&facts).map_err(|error| Error::new(ErrorKind::Store, error.to_string()))?;
    let seconds: Vec<u8> = facts.cells.seconds.iter().flat_map(|value| value.to_le_bytes()).collect();
    Ok(Some((text, PyBytes::new(py, &facts.cells.states), PyBytes::new(py, &seconds))))
}

/// Indices of the blocks that failed and are not done, as the store at a path has them.
#[pyfunction]
pub(crate) fn failed_block_indices(
    py: Python<'_>,
    path: PathBuf,
    plan: &Bound<'_, TaskPlan>,
) -> Result<Vec<u64>> {
    let plan = &plan.get().plan;
    Ok(py.detach(|| ReadStore::open(&path, plan)?.failed())?)
}
