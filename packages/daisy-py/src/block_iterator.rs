//! Blocks of a task one after the other, made only when Python asks for the next.

use std::sync::Arc;

use daisy_core::geometry::{GridBox, MAX_DIMS, Position};
use daisy_core::graph::Levels;
use pyo3::prelude::*;

use crate::block::{Block, TaskPlace};
use crate::block_status::CREATED;

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
    pub(crate) fn over(place: &Arc<TaskPlace>, cells: GridBox) -> Self {
        Self { place: Arc::clone(place), cells, level: None, next: None, started: false }
    }

    /// Only the blocks of this level.
    pub(crate) fn at_level(self, levels: Levels, level: u64) -> Self {
        Self { level: Some((levels, level)), ..self }
    }

    /// First position and step per axis.
    fn lattice(&self) -> (Position, Position) {
        match &self.level {
            None => (self.cells.begin, [1; MAX_DIMS]),
            Some((levels, level)) => {
                let mut steps = [1; MAX_DIMS];
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
