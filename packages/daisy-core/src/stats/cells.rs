//! What became of each block, for tasks that are not too large to be drawn.

use crate::geometry::IndexSet;

/// Cells kept for all tasks of a run together: five bytes each.
const MOST_CELLS: u64 = 1 << 20;

/// State of a block as a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum CellState {
    /// It did not run.
    NotRun = 0,
    /// It succeeded in this run.
    Completed = 1,
    /// It was done in an earlier run.
    DoneBefore = 2,
    /// It was masked out.
    Masked = 3,
    /// `check_function` found it done.
    FoundDone = 4,
    /// Every attempt failed.
    Failed = 5,
    /// It could not run, because one that it depends on failed.
    Orphaned = 6,
}

/// State and seconds per block of one task, row-major; both empty for a task that is too large.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cells {
    /// A [`CellState`] per block.
    pub states: Vec<u8>,
    /// Seconds per block, by the worker's clock; NaN where none succeeded in this run.
    pub seconds: Vec<f32>,
}

/// Room for the cells of the tasks of a run, given out in their order.
#[derive(Debug)]
pub(super) struct Room(u64);

impl Room {
    pub(super) const fn new() -> Self {
        Self(MOST_CELLS)
    }

    /// Cells for a task of so many blocks, or none.
    pub(super) fn take(&mut self, blocks: u64) -> Cells {
        let Some(rest) = self.0.checked_sub(blocks) else { return Cells::default() };
        self.0 = rest;
        Cells::of(blocks)
    }
}

impl Cells {
    /// Cells of so many blocks that did not run.
    #[must_use]
    pub fn of(blocks: u64) -> Self {
        let blocks = blocks as usize;
        Self { states: vec![CellState::NotRun as u8; blocks], seconds: vec![f32::NAN; blocks] }
    }

    /// Takes note of how a block ended.
    #[inline]
    pub(super) fn set(&mut self, index: u64, state: CellState) {
        if let Some(cell) = self.states.get_mut(index as usize) {
            *cell = state as u8;
        }
    }

    /// Takes note of all blocks of a set.
    pub fn set_all(&mut self, indices: &IndexSet, state: CellState) {
        if self.states.is_empty() {
            return;
        }
        let mut from = 0;
        while let Some(first) = indices.next_present(from) {
            let end = indices.next_missing(first).unwrap_or(indices.len());
            if let Some(cells) = self.states.get_mut(first as usize..end as usize) {
                cells.fill(state as u8);
            }
            from = end;
        }
    }

    #[inline]
    pub(super) fn set_seconds(&mut self, index: u64, seconds: f32) {
        if let Some(cell) = self.seconds.get_mut(index as usize) {
            *cell = seconds;
        }
    }
}
