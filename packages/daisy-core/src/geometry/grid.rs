//! A dense lattice of cells, numbered row-major, and boxes of it.

use super::MAX_DIMS;
use crate::error::{Error, ErrorKind, Result};

/// Grid position, one entry per axis; entries past the rank are zero.
pub type Position = [u64; MAX_DIMS];

/// A lattice of `shape` cells, numbered row-major from zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    dims: usize,
    shape: Position,
    strides: Position,
    len: u64,
}

impl Grid {
    /// A grid with this shape; axes of size zero are allowed and make it empty.
    ///
    /// # Errors
    /// `Overflow` if it has 2⁶³ cells or more.
    ///
    /// ```
    /// use daisy_core::geometry::Grid;
    /// let grid = Grid::new(&[2, 3]).unwrap();
    /// assert_eq!(grid.index(&grid.position(4)), 4);
    /// ```
    pub fn new(shape: &[u64]) -> Result<Self> {
        let mut all = [0; MAX_DIMS];
        all[..shape.len()].copy_from_slice(shape);
        let mut strides = [0; MAX_DIMS];
        let mut len: u128 = 1;
        for axis in (0..shape.len()).rev() {
            strides[axis] = len as u64;
            len = len.saturating_mul(u128::from(shape[axis].max(1)));
            if len >= 1 << 63 {
                return Err(Error::new(ErrorKind::Overflow, "a task has too many blocks")
                    .with_context("block grid", format!("{shape:?}"))
                    .with_context("expected", "fewer than 2**63 blocks"));
            }
        }
        let len = if shape.contains(&0) { 0 } else { len as u64 };
        Ok(Self { dims: shape.len(), shape: all, strides, len })
    }

    /// Number of axes.
    #[inline]
    #[must_use]
    pub const fn dims(&self) -> usize {
        self.dims
    }

    /// Cells per axis.
    #[inline]
    #[must_use]
    pub fn shape(&self) -> &[u64] {
        &self.shape[..self.dims]
    }

    /// Number of cells.
    #[inline]
    #[must_use]
    #[allow(clippy::len_without_is_empty)]
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// Distance in the numbering between neighbours on `axis`.
    #[inline]
    #[must_use]
    pub const fn stride(&self, axis: usize) -> u64 {
        self.strides[axis]
    }

    /// Row-major number of a position inside the grid.
    #[inline]
    #[must_use]
    pub fn index(&self, position: &Position) -> u64 {
        (0..self.dims).map(|axis| position[axis] * self.strides[axis]).sum()
    }

    /// Position of a number below [`Grid::len`].
    #[inline]
    #[must_use]
    pub fn position(&self, index: u64) -> Position {
        let mut rest = index;
        let mut position = [0; MAX_DIMS];
        for axis in 0..self.dims.saturating_sub(1) {
            position[axis] = rest / self.strides[axis];
            rest -= position[axis] * self.strides[axis];
        }
        position[self.dims - 1] = rest;
        position
    }

    /// The whole grid as a box.
    #[must_use]
    pub fn whole(&self) -> GridBox {
        GridBox { dims: self.dims, begin: [0; MAX_DIMS], end: self.shape }
    }
}

/// A box of grid positions, `end` exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GridBox {
    dims: usize,
    /// First position, inclusive.
    pub begin: Position,
    /// Last position, exclusive.
    pub end: Position,
}

impl GridBox {
    /// A box between two corners; empty if `end` is not past `begin` on every axis.
    #[must_use]
    pub const fn new(dims: usize, begin: Position, end: Position) -> Self {
        Self { dims, begin, end }
    }

    /// Number of axes.
    #[must_use]
    pub const fn dims(&self) -> usize {
        self.dims
    }

    /// Number of positions.
    #[inline]
    #[must_use]
    pub fn volume(&self) -> u64 {
        (0..self.dims).map(|axis| self.end[axis].saturating_sub(self.begin[axis])).product()
    }

    /// Whether it holds no position.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        (0..self.dims).any(|axis| self.end[axis] <= self.begin[axis])
    }

    /// Whether it holds this position.
    #[inline]
    #[must_use]
    pub fn contains(&self, position: &Position) -> bool {
        (0..self.dims).all(|axis| self.begin[axis] <= position[axis] && position[axis] < self.end[axis])
    }

    /// The smallest box that holds both; an empty one counts for nothing.
    #[must_use]
    pub fn hull(&self, other: &Self) -> Self {
        if self.is_empty() {
            return *other;
        }
        if other.is_empty() {
            return *self;
        }
        let mut hull = *self;
        for axis in 0..self.dims {
            hull.begin[axis] = self.begin[axis].min(other.begin[axis]);
            hull.end[axis] = self.end[axis].max(other.end[axis]);
        }
        hull
    }

    /// The positions in row-major order.
    #[must_use]
    pub fn positions(&self) -> GridPositions {
        GridPositions { within: *self, next: (!self.is_empty()).then_some(self.begin) }
    }

    /// Calls `visit(first, len)` for each row: a run of consecutive indices of `grid` along the last axis.
    #[inline]
    pub fn for_each_row(&self, grid: &Grid, mut visit: impl FnMut(u64, u64)) {
        if self.is_empty() {
            return;
        }
        let last = self.dims - 1;
        let length = self.end[last] - self.begin[last];
        let mut position = self.begin;
        'rows: loop {
            visit(grid.index(&position), length);
            for axis in (0..last).rev() {
                position[axis] += 1;
                if position[axis] < self.end[axis] {
                    continue 'rows;
                }
                position[axis] = self.begin[axis];
            }
            return;
        }
    }
}

/// Iterator over the positions of a [`GridBox`], row-major.
#[derive(Clone, Debug)]
pub struct GridPositions {
    within: GridBox,
    next: Option<Position>,
}

impl Iterator for GridPositions {
    type Item = Position;

    fn next(&mut self) -> Option<Position> {
        let current = self.next?;
        let mut following = current;
        self.next = None;
        for axis in (0..self.within.dims).rev() {
            following[axis] += 1;
            if following[axis] < self.within.end[axis] {
                self.next = Some(following);
                break;
            }
            following[axis] = self.within.begin[axis];
        }
        Some(current)
    }
}
