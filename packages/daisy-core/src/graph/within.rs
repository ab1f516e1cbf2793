//! Who waits for whom inside a task.
//!
//! A block waits for its neighbours of the level just below: on each axis on which the two levels have
//! different residues, the nearest on both sides. That orders any two conflicting blocks: inside a window
//! of one period per axis each residue occurs once, so from the later block a step down per level leads to
//! the earlier one without leaving the window. It takes fewer edges than waiting for every conflict, and
//! there is no barrier between levels.
//!
//! It takes every block of the way, though. Where some do not run, because they are done or masked, the
//! chain has gaps, and a block waits for each conflicting block of a lower level instead.

use super::Levels;
use crate::geometry::{Grid, GridBox, MAX_DIMS, Position};
use crate::plan::BlockLayout;

/// Which edges order the conflicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edges {
    /// To the nearest blocks of the next level.
    Chain,
    /// To every conflicting block: at most `below` and `above` blocks away per axis, or the reverse.
    Direct { below: Position, above: Position },
}

/// Dependencies between blocks of one task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Within {
    grid: Grid,
    levels: Levels,
    edges: Edges,
}

impl Within {
    /// The dependencies of a task all of whose blocks run.
    #[must_use]
    pub fn new(layout: &BlockLayout, read_write_conflict: bool) -> Self {
        Self { grid: *layout.grid(), levels: Levels::new(layout, read_write_conflict), edges: Edges::Chain }
    }

    /// The dependencies of a task some of whose blocks do not run.
    #[must_use]
    pub fn with_gaps(layout: &BlockLayout, read_write_conflict: bool) -> Self {
        let (mut below, mut above) = ([0; MAX_DIMS], [0; MAX_DIMS]);
        for axis in 0..layout.dims() {
            let block = layout.block_shape()[axis] as u64;
            below[axis] = (layout.context_lower()[axis] as u64).div_ceil(block);
            above[axis] = (layout.context_upper()[axis] as u64).div_ceil(block);
        }
        Self { edges: Edges::Direct { below, above }, ..Self::new(layout, read_write_conflict) }
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
        if let Edges::Direct { below, above } = &self.edges {
            let mut count = 0;
            self.for_each_conflict(position, (below, above), true, &mut |_| count += 1);
            return count;
        }
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
        match &self.edges {
            Edges::Chain => self.step(position, true, visit),
            Edges::Direct { below, above } => self.for_each_conflict(position, (below, above), true, visit),
        }
    }

    /// Calls `visit` with the index of each block that waits for the one at this position.
    #[inline]
    pub fn for_each_successor(&self, position: &Position, visit: &mut impl FnMut(u64)) {
        match &self.edges {
            Edges::Chain => self.step(position, false, visit),
            Edges::Direct { below, above } => self.for_each_conflict(position, (below, above), false, visit),
        }
    }

    /// Visits the conflicting blocks of lower levels, or of higher ones.
    fn for_each_conflict(
        &self,
        position: &Position,
        (below, above): (&Position, &Position),
        of_lower_level: bool,
        visit: &mut impl FnMut(u64),
    ) {
        if self.is_free() {
            return;
        }
        let dims = self.grid.dims();
        let (mut begin, mut end) = ([0; MAX_DIMS], [0; MAX_DIMS]);
        for axis in 0..dims {
            let reach = below[axis].max(above[axis]);
            begin[axis] = position[axis].saturating_sub(reach);
            end[axis] = position[axis].saturating_add(reach).saturating_add(1).min(self.grid.shape()[axis]);
        }
        let level = self.levels.level(position);
        for other in GridBox::new(dims, begin, end).positions() {
            let is_within = |lower: &Position, upper: &Position| {
                (0..dims).all(|axis| {
                    position[axis] <= other[axis] + lower[axis] && other[axis] <= position[axis] + upper[axis]
                })
            };
            let conflicts = is_within(below, above) || is_within(above, below);
            let other_level = self.levels.level(&other);
            if conflicts && other_level != level && (other_level < level) == of_lower_level {
                visit(self.grid.index(&other));
            }
        }
    }

    /// Residues of neighbouring levels differ by one, as an odometer does: on the fastest axis, and on the
    /// next slower one where it wraps.
    fn step(&self, position: &Position, towards_predecessors: bool, visit: &mut impl FnMut(u64)) {
        let mut moving = 0usize;
        let mut axes = [0usize; MAX_DIMS];
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
