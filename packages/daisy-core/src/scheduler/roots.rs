//! Blocks that wait for nothing, one after the other and only when asked for.

use crate::geometry::{Grid, GridBox, Position};
use crate::graph::Levels;

/// The blocks of the first level outside some boxes, row-major.
#[derive(Clone, Debug)]
pub(super) struct Roots {
    grid: Grid,
    period: Position,
    offset: Position,
    /// Blocks inside them wait for an upstream task.
    covered: Vec<GridBox>,
    next: Option<Position>,
    left: u64,
}

impl Roots {
    /// Those of a task with this grid and these levels, whose blocks in `covered` wait for others.
    pub(super) fn new(grid: &Grid, levels: &Levels, covered: Vec<GridBox>) -> Self {
        let mut period = [1; crate::geometry::MAX_DIMS];
        period[..grid.dims()].copy_from_slice(levels.period());
        let mut roots = Self { grid: *grid, period, offset: levels.offset(0), covered, next: None, left: 0 };
        roots.covered.retain(|each| !each.is_empty());
        if grid.len() == 0 {
            return roots;
        }
        let all = levels.count_in(0, &grid.whole());
        let hull = roots
            .covered
            .iter()
            .skip(1)
            .fold(roots.covered.first().copied(), |hull, each| hull.map(|hull| hull.hull(each)));
        roots.next = roots.settle(roots.offset);
        roots.left = match hull {
            None => all,
            // One box holds all others: the rest can be counted without looking.
            Some(hull) if roots.covered.contains(&hull) => all - levels.count_in(0, &hull),
            Some(_) => {
                let mut scout = roots.clone();
                scout.left = u64::MAX;
                std::iter::from_fn(|| scout.take()).count() as u64
            }
        };
        if roots.left == 0 {
            roots.next = None;
        }
        roots
    }

    /// How many were not taken yet.
    #[inline]
    pub(super) const fn left(&self) -> u64 {
        self.left
    }

    /// The next one.
    #[inline]
    pub(super) fn take(&mut self) -> Option<u64> {
        let current = self.next?;
        self.left -= 1;
        self.next = if self.left == 0 { None } else { self.after(current, self.grid.dims() - 1) };
        Some(self.grid.index(&current))
    }

    /// Forgets those that were not taken.
    pub(super) fn clear(&mut self) {
        (self.next, self.left) = (None, 0);
    }

    /// The first position past `position` on `axis` that is outside all boxes.
    #[inline]
    fn after(&self, mut position: Position, axis: usize) -> Option<Position> {
        for axis in (0..=axis).rev() {
            position[axis] += self.period[axis];
            if position[axis] < self.grid.shape()[axis] {
                return if self.covered.is_empty() { Some(position) } else { self.settle(position) };
            }
            position[axis] = self.offset[axis];
        }
        None
    }

    /// This position, or the first one past it, row-major, that is outside all boxes.
    fn settle(&self, mut position: Position) -> Option<Position> {
        let last = self.grid.dims() - 1;
        loop {
            let Some(cover) = self.covered.iter().find(|each| each.contains(&position)) else {
                return Some(position);
            };
            // Step over the row's part that is covered, at once.
            let missing = cover.end[last] - position[last];
            position[last] += missing.div_ceil(self.period[last]) * self.period[last];
            let mut axis = last;
            while position[axis] >= self.grid.shape()[axis] {
                position[axis] = self.offset[axis];
                if axis == 0 {
                    return None;
                }
                axis -= 1;
                position[axis] += self.period[axis];
            }
        }
    }
}
