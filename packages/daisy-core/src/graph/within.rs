//! Who waits for whom inside a task.
//!
//! A block waits for its neighbours of the level just below: on each axis on which the two levels have
//! different residues, the nearest on both sides. That orders any two conflicting blocks: inside a window
//! of one period per axis each residue occurs once, so from the later block a step down per level leads to
//! the earlier one without leaving the window. It takes fewer edges than waiting for every conflict, and
//! there is no barrier between levels.

use super::Levels;
use crate::geometry::{Grid, Position};

/// Dependencies between blocks of one task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Within {
    grid: Grid,
    levels: Levels,
}

impl Within {
    /// The dependencies on this grid with these levels.
    #[must_use]
    pub const fn new(grid: Grid, levels: Levels) -> Self {
        Self { grid, levels }
    }

    /// The block grid.
    #[inline]
    #[must_use]
    pub const fn grid(&self) -> &Grid {
        &self.grid
    }

    /// The levels.
    #[inline]
    #[must_use]
    pub const fn levels(&self) -> &Levels {
        &self.levels
    }

    /// Whether no block waits for another of the task.
    #[inline]
    #[must_use]
    pub const fn is_free(&self) -> bool {
        self.levels.count() == 1
    }

    /// How many blocks the one at this position waits for.
    #[inline]
    #[must_use]
    pub fn predecessor_count(&self, position: &Position) -> u32 {
        let mut count = 1;
        let mut any = false;
        for axis in (0..self.grid.dims()).rev() {
            let period = self.levels.period()[axis];
            if period == 1 {
                continue;
            }
            any = true;
            let residue = position[axis] % period;
            count *= u32::from(position[axis] + 1 < self.grid.shape()[axis])
                + u32::from(position[axis] + 1 >= period);
            if residue + 1 < period {
                return count;
            }
            // This axis wraps around; the next slower one moves too.
        }
        let is_first_level = any && self.levels.level(position) == 0;
        if any && !is_first_level { count } else { 0 }
    }

    /// Calls `visit` with the index of each block that the one at this position waits for.
    #[inline]
    pub fn for_each_predecessor(&self, position: &Position, visit: &mut impl FnMut(u64)) {
        self.step(position, true, visit);
    }

    /// Calls `visit` with the index of each block that waits for the one at this position.
    #[inline]
    pub fn for_each_successor(&self, position: &Position, visit: &mut impl FnMut(u64)) {
        self.step(position, false, visit);
    }

    /// Residues of neighbouring levels differ by one, as an odometer does: on the fastest axis, and on the
    /// next slower one where it wraps.
    fn step(&self, position: &Position, towards_predecessors: bool, visit: &mut impl FnMut(u64)) {
        let mut moving = 0usize;
        let mut axes = [0usize; crate::geometry::MAX_DIMS];
        let mut wraps = true;
        for axis in (0..self.grid.dims()).rev() {
            let period = self.levels.period()[axis];
            if period == 1 {
                continue;
            }
            let residue = position[axis] % period;
            axes[moving] = axis;
            moving += 1;
            wraps = if towards_predecessors { residue + 1 == period } else { residue == 0 };
            if !wraps {
                break;
            }
        }
        if wraps {
            return; // the first level has no predecessors, the last no successors
        }
        self.visit_corners(&axes[..moving], position, towards_predecessors, self.grid.index(position), visit);
    }

    fn visit_corners(
        &self,
        axes: &[usize],
        position: &Position,
        towards_predecessors: bool,
        index: u64,
        visit: &mut impl FnMut(u64),
    ) {
        let Some((axis, rest)) = axes.split_first() else {
            visit(index);
            return;
        };
        let (stride, size) = (self.grid.stride(*axis), self.grid.shape()[*axis]);
        let far = self.levels.period()[*axis] - 1;
        let (up, down) = if towards_predecessors { (1, far) } else { (far, 1) };
        if position[*axis] >= down {
            self.visit_corners(rest, position, towards_predecessors, index - down * stride, visit);
        }
        if position[*axis] + up < size {
            self.visit_corners(rest, position, towards_predecessors, index + up * stride, visit);
        }
    }
}
