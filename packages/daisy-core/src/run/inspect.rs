//! What a tracking store says of its task, for reports of runs that left none.

use std::path::Path;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::error::Result;
use crate::geometry::IndexSet;
use crate::stats::{CellState, Cells, Distribution, DistributionSummary, MeasuredTotals};
use crate::tracking::Contents;

/// Blocks of a task of which each is told, at most.
const MOST_CELLS: u64 = 1 << 20;

/// What is in a store, counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StoreFacts {
    /// Attributes of the group: geometry, and what the last run was asked for.
    pub attributes: Map<String, Value>,
    /// Shape of the block grid.
    pub grid_shape: Vec<u64>,
    /// All blocks.
    pub total: u64,
    /// Blocks that are done.
    pub done: u64,
    /// Blocks that are not done, and that the last run left out.
    pub masked: u64,
    /// Blocks of which attempts failed, and that are not done.
    pub failed: u64,
    /// Failed attempts, over all runs.
    pub failed_attempts: u64,
    /// Seconds per block, as measured.
    pub seconds: DistributionSummary,
    /// What was measured, over all runs.
    pub measured: MeasuredTotals,
    /// Who is named in the lock file: a run that goes on, or one that was killed.
    pub holder: Option<String>,
    /// Whether the holder may be alive.
    pub is_held: bool,
    /// State and seconds per block; empty for tasks that are too large.
    #[serde(skip)]
    pub cells: Cells,
}

/// Reads the store at a path; `None` if there is none. `host` is the name of this machine, to tell whether the run
/// in its lock goes on.
///
/// # Errors
/// `Store` if there is one that cannot be read.
pub fn inspect_store(path: &Path, host: &str) -> Result<Option<StoreFacts>> {
    let Some(store) = Contents::open(path)? else { return Ok(None) };
    let total = store.grid().len();
    let (done, mut masked, mut failed) = (store.done()?, IndexSet::new(total), IndexSet::new(total));
    let mut failed_attempts = 0;
    store.for_each_failed(|index, count| {
        failed_attempts += u64::from(count);
        if !done.contains(index) {
            failed.insert(index);
        }
    })?;
    for index in store.masked()?.iter().filter(|index| !done.contains(*index)) {
        masked.insert(index);
    }
    let mut cells = Cells::of(if total <= MOST_CELLS { total } else { 0 });
    cells.set_all(&failed, CellState::Failed);
    cells.set_all(&masked, CellState::Masked);
    cells.set_all(&done, CellState::Completed);
    let (seconds, measured) = measured(&store, &mut cells)?;
    let holder = store.holder(host);
    Ok(Some(StoreFacts {
        attributes: store.attributes().clone(),
        grid_shape: store.grid().shape().to_vec(),
        total,
        done: done.count(),
        masked: masked.count(),
        failed: failed.count(),
        failed_attempts,
        seconds: seconds.summary(),
        measured,
        holder: holder.map(|(holder, _)| holder.to_string()),
        is_held: holder.is_some_and(|(_, is_alive)| is_alive),
        cells,
    }))
}

fn measured(store: &Contents, cells: &mut Cells) -> Result<(Distribution, MeasuredTotals)> {
    let (mut seconds, mut totals) = (Distribution::default(), MeasuredTotals::default());
    store.for_each_measured("wall_seconds", |index, value| {
        seconds.push(value);
        totals.blocks += 1;
        totals.wall_seconds += value;
        if let Some(cell) = cells.seconds.get_mut(index as usize) {
            *cell = value as f32;
        }
    })?;
    store.for_each_measured("cpu_seconds", |_, value| totals.cpu_seconds += value)?;
    let largest = &mut totals.peak_rss_bytes;
    store.for_each_measured("peak_rss_bytes", |_, value| *largest = (*largest).max(value as u64))?;
    store.for_each_measured("io_read_bytes", |_, value| totals.io_read_bytes += value as u64)?;
    store.for_each_measured("io_write_bytes", |_, value| totals.io_write_bytes += value as u64)?;
    Ok((seconds, totals))
}
