//! The store of one task.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::array::{Array, not_json};
use super::element::Element;
use super::files::{read_if_there, store_error, write_whole};
use super::found::{ATTRIBUTE, Found, foreign, look, old};
use super::holder::Holder;
use super::identity::Identity;
use super::lock::{LOCK_FILE, RunLock};
use super::measured::MeasuredArrays;
use super::reset::remove_array;
use crate::error::{Error, ErrorKind, Result};
use crate::geometry::IndexSet;
use crate::measurement::Measurement;
use crate::plan::TaskPlan;

/// How a store is opened for a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreOptions {
    /// Name of this machine, for the lock.
    pub host: String,
    /// Whether measurements of blocks are kept.
    pub measured: bool,
    /// What this run was asked for, kept with the store for reports.
    pub settings: Option<Value>,
}

/// Name of the array of what the last run left out.
pub(super) const MASKED: &str = "masked";
/// Attribute of the group that says what the last run was asked for.
const RUN_ATTRIBUTE: &str = "daisy_run";
/// Blocks of a task of which each masked one is kept, at most: who has more has the mask itself.
const MOST_MASKED_CELLS: u64 = 1 << 24;

/// A store that is open for one run, under its lock.
///
/// Marks are kept in memory until [`Store::flush`]. Dropping a store without a flush loses them, which is
/// what a crash does.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    done: Array,
    failures: Array,
    measured: Option<MeasuredArrays>,
    notices: Vec<String>,
    /// Whether daisy made it; else nothing is removed from it.
    is_ours: bool,
    // Last, so that it is released after all else.
    lock: RunLock,
}

impl Store {
    /// Opens the store of a task for a run, and makes it if there is none.
    ///
    /// # Errors
    /// `StoreLocked` naming the holder, `StoreMismatch` listing what changed, `Store` for paths that hold
    /// something else or cannot be written.
    pub fn open(path: &Path, plan: &TaskPlan, options: &StoreOptions) -> Result<Self> {
        Self::open_inner(path, plan, options).map_err(|error| error.with_context("task", plan.name()))
    }

    fn open_inner(path: &Path, plan: &TaskPlan, options: &StoreOptions) -> Result<Self> {
        let identity = Identity::of(plan);
        // Before anything is made, so that no foreign folder gets as much as a lock file.
        check(path, &look(path)?, &identity)?;
        let done_folder = path.join("done");
        fs::create_dir_all(&done_folder)
            .map_err(|error| store_error("making a folder", &done_folder, error))?;
        let mut notices = Vec::new();
        let holder = Holder::this_process(&options.host);
        let lock = RunLock::acquire(&done_folder.join(LOCK_FILE), &holder, &mut notices)?;
        // Again, because another run may have made the store meanwhile.
        let found = look(path)?;
        notices.extend(check(path, &found, &identity)?);
        let is_ours = !matches!(found, Found::UserMade);
        if let Found::Blank(attributes) = found {
            write_group(path, attributes, &identity)?;
        }
        if let (Some(settings), true) = (&options.settings, is_ours) {
            let run =
                json!({"since": holder.since, "host": holder.host, "pid": holder.pid, "settings": settings});
            set_attribute(path, RUN_ATTRIBUTE, run)?;
        }
        let grid = plan.layout().grid();
        let array = |name, element| Array::open_or_create(path.join(name), grid, element);
        let done = array("done", Element::UInt8)?;
        let failures = array("failures", Element::UInt16)?;
        let measured = options.measured.then(|| MeasuredArrays::open(path, grid)).transpose()?;
        Ok(Self { path: path.to_owned(), done, failures, measured, notices, is_ours, lock })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is worth a line in the log: a lock taken over, a file system without locks.
    #[must_use]
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// The blocks that are done.
    ///
    /// # Errors
    /// `Store` if a chunk cannot be read.
    pub fn done(&self) -> Result<IndexSet> {
        self.done.nonzero()
    }

    /// Keeps which blocks this run leaves out: `mask` has a byte per block, not zero where it does. Those of the run
    /// before are forgotten. Masked blocks are never marked as done.
    ///
    /// # Errors
    /// `Store` if it cannot be written.
    pub fn keep_mask(&self, mask: Option<&[u8]>) -> Result<()> {
        let (folder, grid) = (self.path.join(MASKED), self.done.grid());
        match mask {
            Some(mask)
                if self.is_ours && grid.len() <= MOST_MASKED_CELLS && mask.len() as u64 == grid.len() =>
            {
                Array::open_or_create(folder, grid, Element::UInt8)?.write_flags(mask)
            }
            _ if self.is_ours => remove_array(&folder),
            _ => Ok(()),
        }
    }

    /// Marks a block as done.
    ///
    /// # Errors
    /// `Store` if an earlier chunk had to be written and could not.
    #[inline]
    pub fn mark_done(&mut self, index: u64) -> Result<()> {
        self.done.set(index, &[1])
    }

    /// Counts a failed attempt of a block.
    ///
    /// # Errors
    /// As for [`Store::mark_done`].
    pub fn count_failure(&mut self, index: u64) -> Result<()> {
        self.failures.increment(index)
    }

    /// Keeps what a block took, if the store was opened for that.
    ///
    /// # Errors
    /// As for [`Store::mark_done`].
    pub fn keep(&mut self, index: u64, measurement: &Measurement) -> Result<()> {
        match &mut self.measured {
            Some(arrays) => arrays.keep(index, measurement),
            None => Ok(()),
        }
    }

    /// Hands all marks to the operating system: from then on they survive the end of this process.
    ///
    /// # Errors
    /// `Store` if a chunk cannot be written. Marks that were not written are kept, for another try.
    pub fn flush(&mut self) -> Result<()> {
        self.lock.check()?;
        // What went wrong because the folder is gone is told as that.
        self.flush_arrays().map_err(|error| self.lock.check().err().unwrap_or(error))
    }

    fn flush_arrays(&mut self) -> Result<()> {
        // What is known of a block comes before the mark that says that it is done.
        if let Some(arrays) = &mut self.measured {
            arrays.flush()?;
        }
        self.failures.flush()?;
        self.done.flush()
    }

    /// Flushes, asks the operating system to put it on its disk, and releases the lock.
    ///
    /// # Errors
    /// As for [`Store::flush`].
    pub fn close(mut self) -> Result<()> {
        self.flush()?;
        self.failures.sync()?;
        self.done.sync()
    }
}

/// A store that is only looked at: no lock, nothing made, nothing written.
#[derive(Debug)]
pub struct ReadStore {
    done: Option<Array>,
    failures: Option<Array>,
    blocks: u64,
}

impl ReadStore {
    /// Opens the store of a task for reading; where there is none it is empty.
    ///
    /// # Errors
    /// `StoreMismatch` and `Store` as for [`Store::open`].
    pub fn open(path: &Path, plan: &TaskPlan) -> Result<Self> {
        let grid = plan.layout().grid();
        let found = look(path)?;
        check(path, &found, &Identity::of(plan)).map_err(|error| error.with_context("task", plan.name()))?;
        let array = |name, element| Array::open(path.join(name), grid, element);
        Ok(Self {
            done: array("done", Element::UInt8)?,
            failures: array("failures", Element::UInt16)?,
            blocks: grid.len(),
        })
    }

    /// The blocks that are done.
    ///
    /// # Errors
    /// `Store` if a chunk cannot be read.
    pub fn done(&self) -> Result<IndexSet> {
        self.done.as_ref().map_or_else(|| Ok(IndexSet::new(self.blocks)), Array::nonzero)
    }

    /// The blocks of which attempts failed and that are not done, ascending.
    ///
    /// # Errors
    /// As for [`ReadStore::done`].
    pub fn failed(&self) -> Result<Vec<u64>> {
        let Some(failures) = &self.failures else { return Ok(Vec::new()) };
        let done = self.done()?;
        Ok(failures.nonzero()?.iter().filter(|index| !done.contains(*index)).collect())
    }
}

/// Whether a store for this task may be used; what should be said about it if so.
fn check(path: &Path, found: &Found, wanted: &Identity) -> Result<Option<String>> {
    match found {
        Found::Blank(_) | Found::UserMade => Ok(None),
        Found::Old => Err(old(path)),
        Found::Foreign(what) => Err(foreign(path, what)),
        Found::Ours(stored) => {
            let differences = stored.differences(wanted);
            if differences.is_empty() {
                return Ok((stored.task != wanted.task).then(|| {
                    format!(
                        "the tracking store at {} was written by task {:?}; its marks count for task {:?}",
                        path.display(),
                        stored.task,
                        wanted.task
                    )
                }));
            }
            let mut error = Error::new(
                ErrorKind::StoreMismatch,
                "the tracking store was written for other blocks than those of this task",
            )
            .with_context("path", path.display());
            for (name, change) in differences {
                error = error.with_context(name, change);
            }
            Err(error.with_context(
                "expected",
                "the parameters of the earlier run, another tracking_path, or Task.reset() to start anew",
            ))
        }
    }
}

/// Sets an attribute of the group, and leaves the others as they are.
fn set_attribute(path: &Path, name: &str, value: Value) -> Result<()> {
    let path = path.join("zarr.json");
    let bytes = read_if_there(&path)?.unwrap_or_default();
    let mut document: Value =
        serde_json::from_slice(&bytes).map_err(|error| not_json(&path, error.to_string()))?;
    document["attributes"][name] = value;
    write_whole(&path, format!("{document:#}\n").as_bytes(), true)
}

fn write_group(path: &Path, mut attributes: Map<String, Value>, identity: &Identity) -> Result<()> {
    attributes.insert(ATTRIBUTE.to_owned(), json!(identity));
    let document = json!({"zarr_format": 3, "node_type": "group", "attributes": attributes});
    write_whole(&path.join("zarr.json"), format!("{document:#}\n").as_bytes(), true)
}
