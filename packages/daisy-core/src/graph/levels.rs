//! Levels: blocks of a task that can never conflict.
//!
//! Two blocks conflict if one's read ROI meets the other's write ROI. On one axis that takes a distance of
//! less than `period = ceil((max(context_lower, context_upper) + block) / block)` blocks, so blocks that are
//! equal modulo the period on every axis never conflict: they form a level. Levels run from the largest
//! residue to the smallest, row-major, which is the order of daisy 1.x.

use crate::geometry::{GridBox, MAX_DIMS, Position};
use crate::plan::BlockLayout;

/// The levels of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Levels {
    dims: usize,
    period: Position,
    count: u64,
}

impl Levels {
    /// The levels of this layout; a single one if blocks may run beside each other.
    #[must_use]
    pub fn new(layout: &BlockLayout, read_write_conflict: bool) -> Self {
        let dims = layout.dims();
        let mut period = [1; MAX_DIMS];
        for (axis, period) in period.iter_mut().enumerate().take(dims) {
            let (block, cells) = (layout.block_shape()[axis], layout.grid().shape()[axis]);
            let context = layout.context_lower()[axis].max(layout.context_upper()[axis]);
            if read_write_conflict {
                *period = (1 + (context / block) as u64 + u64::from(context % block != 0)).min(cells.max(1));
            }
        }
        // At most the number of blocks, as each factor is clamped to the grid.
        let count = period[..dims].iter().product();
        Self { dims, period, count }
    }

    /// How many levels there are, at least 1.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Distance, per axis, between neighbouring blocks of one level.
    #[inline]
    #[must_use]
    pub fn period(&self) -> &[u64] {
        &self.period[..self.dims]
    }

    /// The level of the block at this position, from 0.
    #[must_use]
    pub fn level(&self, position: &Position) -> u64 {
        let mut number = 0;
        for axis in 0..self.dims {
            number = number * self.period[axis] + position[axis] % self.period[axis];
        }
        self.count - 1 - number
    }

    /// The smallest position, per axis, of blocks of this level; each is below the period.
    #[must_use]
    pub fn offset(&self, level: u64) -> Position {
        let mut rest = self.count - 1 - level;
        let mut offset = [0; MAX_DIMS];
        for axis in (0..self.dims).rev() {
            offset[axis] = rest % self.period[axis];
            rest /= self.period[axis];
        }
        offset
    }

    /// How many blocks of this level lie in a box.
    #[must_use]
    pub fn count_in(&self, level: u64, within: &GridBox) -> u64 {
        let offset = self.offset(level);
        (0..self.dims)
            .map(|axis| {
                let upto =
                    |end: u64| (end + self.period[axis] - 1).saturating_sub(offset[axis]) / self.period[axis];
                upto(within.end[axis]).saturating_sub(upto(within.begin[axis]))
            })
            .product()
    }
}
