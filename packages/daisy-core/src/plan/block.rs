//! How blocks tile a task's total ROI.

use std::fmt;
use std::str::FromStr;

use super::block_id::{block_id, index_position};
use crate::error::{Error, ErrorKind, Result};
use crate::geometry::{Coordinate, Grid, GridBox, MAX_DIMS, Position, Roi};

/// What happens at the upper edge of the total ROI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Fit {
    /// Only whole blocks; a remainder is not processed.
    #[default]
    Valid,
    /// The last block keeps its size and may stick out.
    Overhang,
    /// The last block is cut at the total ROI.
    Shrink,
}

impl Fit {
    /// The name users write.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Overhang => "overhang",
            Self::Shrink => "shrink",
        }
    }
}

impl fmt::Display for Fit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Fit {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "valid" => Ok(Self::Valid),
            "overhang" => Ok(Self::Overhang),
            "shrink" => Ok(Self::Shrink),
            other => Err(Error::new(ErrorKind::InvalidArgument, "unknown fit")
                .with_context("got", format!("{other:?}"))
                .with_context("expected", "\"valid\", \"overhang\" or \"shrink\"")),
        }
    }
}

/// The geometry of all blocks of a task: computed from a few numbers, never enumerated.
///
/// The *total write ROI* is the total ROI shrunk by the context. Write ROIs tile it from its begin at
/// stride `write.shape`; the read ROI of a block is its write ROI grown by the context. Only the shapes
/// and the relative position of the read and write ROI given matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockLayout {
    total: Roi,
    total_write: Roi,
    block_shape: Coordinate,
    context_lower: Coordinate,
    context_upper: Coordinate,
    fit: Fit,
    grid: Grid,
}

impl BlockLayout {
    /// The layout of blocks with this read and write ROI over `total`, which includes the context.
    ///
    /// # Errors
    /// `InvalidArgument` for differing ranks, empty write ROIs or a write ROI that is not inside the
    /// read ROI; `Overflow` if a block, an index or a block id would not fit in 63 bits.
    pub fn new(total: Roi, read: Roi, write: Roi, fit: Fit) -> Result<Self> {
        check_ranks(&total, &read, &write)?;
        check_rois(&total, &read, &write)?;
        let dims = total.dims();
        let context_lower = Coordinate::from_fn(dims, |a| write.begin()[a] - read.begin()[a]);
        let context_upper = Coordinate::from_fn(dims, |a| read.end()[a] - write.end()[a]);
        let begin = Coordinate::from_fn(dims, |a| total.begin()[a].saturating_add(context_lower[a]));
        // A volume smaller than its context has an empty total write ROI, not a negative one.
        let end =
            Coordinate::from_fn(dims, |a| total.end()[a].saturating_sub(context_upper[a]).max(begin[a]));
        let total_write = Roi::between(begin, end);
        let mut counts = [0u64; MAX_DIMS];
        for (axis, count) in counts.iter_mut().enumerate().take(dims) {
            let (size, step) = (total_write.shape()[axis], write.shape()[axis]);
            *count = match fit {
                Fit::Valid => size / step,
                Fit::Overhang | Fit::Shrink => size.div_euclid(step) + i64::from(size % step != 0),
            } as u64;
        }
        let grid = Grid::new(&counts[..dims])?;
        let layout =
            Self { total, total_write, block_shape: write.shape(), context_lower, context_upper, fit, grid };
        layout.check_extent()?;
        Ok(layout)
    }

    /// Refuses layouts whose last block or whose largest id would not fit.
    fn check_extent(&self) -> Result<()> {
        if self.grid.len() == 0 {
            return Ok(());
        }
        let too_large = |what: &str| {
            Err(Error::new(ErrorKind::Overflow, format!("{what} would not fit in 63 bits"))
                .with_context("total ROI", self.total)
                .with_context("block shape", self.block_shape))
        };
        // Other blocks than those that stick out end inside the total ROI.
        for axis in (0..self.dims()).filter(|_| self.fit == Fit::Overhang) {
            let count = self.grid.shape()[axis] as i128;
            let last = i128::from(self.total_write.begin()[axis])
                + count * i128::from(self.block_shape[axis])
                + i128::from(self.context_upper[axis]);
            let extent = last - i128::from(self.total.begin()[axis]);
            if last.max(extent) > i128::from(i64::MAX) {
                return too_large("the end of the last block");
            }
        }
        let corner: Vec<u64> = self.grid.shape().iter().map(|count| count - 1).collect();
        match block_id(&self.id_offsets(), &corner) {
            Some(_) => Ok(()),
            None => too_large("the block id of the last block"),
        }
    }

    /// Grid position, in the numbering of block ids, of the block with index zero.
    fn id_offsets(&self) -> Vec<u64> {
        (0..self.dims()).map(|a| (self.context_lower[a] / self.block_shape[a]) as u64).collect()
    }

    /// The total ROI, context included.
    #[must_use]
    pub const fn total_roi(&self) -> Roi {
        self.total
    }

    /// The total ROI shrunk by the context: what blocks tile.
    #[must_use]
    pub const fn total_write_roi(&self) -> Roi {
        self.total_write
    }

    /// Shape of a whole write ROI, which is also the stride of the grid.
    #[must_use]
    pub const fn block_shape(&self) -> Coordinate {
        self.block_shape
    }

    /// How far the read ROI exceeds the write ROI at the lower side of each axis.
    #[must_use]
    pub const fn context_lower(&self) -> Coordinate {
        self.context_lower
    }

    /// How far the read ROI exceeds the write ROI at the upper side of each axis.
    #[must_use]
    pub const fn context_upper(&self) -> Coordinate {
        self.context_upper
    }

    /// What happens at the upper edge.
    #[must_use]
    pub const fn fit(&self) -> Fit {
        self.fit
    }

    /// The lattice of write ROIs.
    #[inline]
    #[must_use]
    pub const fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Number of blocks.
    #[inline]
    #[must_use]
    pub const fn block_count(&self) -> u64 {
        self.grid.len()
    }

    /// Number of axes.
    #[inline]
    #[must_use]
    pub const fn dims(&self) -> usize {
        self.grid.dims()
    }

    /// Write ROI of the block at this index.
    #[must_use]
    pub fn write_roi(&self, index: u64) -> Roi {
        let (begin, end) = self.write_bounds(&self.grid.position(index));
        Roi::between(begin, end)
    }

    /// Read ROI of the block at this index.
    #[must_use]
    pub fn read_roi(&self, index: u64) -> Roi {
        let position = self.grid.position(index);
        let (begin, end) = self.write_bounds(&position);
        // A write ROI cut at the total write ROI, grown by the context, ends exactly at the total ROI.
        Roi::between(
            Coordinate::from_fn(self.dims(), |a| begin[a] - self.context_lower[a]),
            Coordinate::from_fn(self.dims(), |a| end[a] + self.context_upper[a]),
        )
    }

    fn write_bounds(&self, position: &Position) -> (Coordinate, Coordinate) {
        let (origin, limit) = (self.total_write.begin(), self.total_write.end());
        let begin =
            Coordinate::from_fn(self.dims(), |a| origin[a] + position[a] as i64 * self.block_shape[a]);
        let end = Coordinate::from_fn(self.dims(), |a| {
            // Only a block that is cut anyway can end past 64 bits.
            let end = begin[a].saturating_add(self.block_shape[a]);
            if self.fit == Fit::Shrink { end.min(limit[a]) } else { end }
        });
        (begin, end)
    }

    /// Public id of the block at this index: the Cantor pyramid number of its grid position.
    #[must_use]
    pub fn block_id(&self, index: u64) -> u64 {
        let position = self.grid.position(index);
        // `new` refused layouts whose largest id does not fit.
        block_id(&self.id_offsets(), &position[..self.dims()]).unwrap_or(u64::MAX)
    }

    /// Index of the block with this public id, or `None` if the task has no such block.
    #[must_use]
    pub fn index_of_id(&self, id: u64) -> Option<u64> {
        let absolute = index_position(id, self.dims());
        let offsets = self.id_offsets();
        let mut position = [0; MAX_DIMS];
        for axis in 0..self.dims() {
            position[axis] = absolute[axis].checked_sub(offsets[axis])?;
            if position[axis] >= self.grid.shape()[axis] {
                return None;
            }
        }
        Some(self.grid.index(&position))
    }

    /// Everything that the blocks write together.
    #[must_use]
    pub fn written_roi(&self) -> Roi {
        let begin = self.total_write.begin();
        let end = Coordinate::from_fn(self.dims(), |axis| self.written_end(axis));
        Roi::between(begin, end)
    }

    fn written_end(&self, axis: usize) -> i64 {
        if self.fit == Fit::Shrink {
            return self.total_write.end()[axis];
        }
        self.total_write.begin()[axis] + self.grid.shape()[axis] as i64 * self.block_shape[axis]
    }

    /// The blocks whose write ROI meets `roi`, as a box of grid positions.
    #[must_use]
    pub fn writers_of(&self, roi: &Roi) -> GridBox {
        self.blocks_meeting(roi, false)
    }

    /// The blocks whose read ROI meets `roi`, as a box of grid positions.
    #[must_use]
    pub fn readers_of(&self, roi: &Roi) -> GridBox {
        self.blocks_meeting(roi, true)
    }

    #[inline]
    fn blocks_meeting(&self, roi: &Roi, read: bool) -> GridBox {
        let (mut begin, mut end) = ([0; MAX_DIMS], [0; MAX_DIMS]);
        if self.grid.len() == 0 {
            return GridBox::new(self.dims(), begin, end);
        }
        let roi_end = roi.end();
        for axis in 0..self.dims() {
            let count = self.grid.shape()[axis] as i64;
            let (lower, upper) =
                if read { (self.context_lower[axis], self.context_upper[axis]) } else { (0, 0) };
            let origin = self.total_write.begin()[axis];
            // What sticks out of all blocks together meets none of them, cut blocks included.
            let from = roi.begin()[axis].max(origin - lower);
            let to = roi_end[axis].min(self.written_end(axis) + upper);
            if from >= to {
                return GridBox::new(self.dims(), [0; MAX_DIMS], [0; MAX_DIMS]);
            }
            let step = self.block_shape[axis];
            begin[axis] = (from - origin - upper).div_euclid(step).clamp(0, count) as u64;
            let reach = to - (origin - lower);
            end[axis] =
                (reach.div_euclid(step) + i64::from(reach.rem_euclid(step) != 0)).clamp(0, count) as u64;
        }
        GridBox::new(self.dims(), begin, end)
    }
}

fn check_ranks(total: &Roi, read: &Roi, write: &Roi) -> Result<()> {
    if total.dims() == read.dims() && read.dims() == write.dims() {
        return Ok(());
    }
    Err(Error::new(ErrorKind::InvalidArgument, "total_roi, read_roi and write_roi have different ranks")
        .with_context("total_roi", format!("{total} with {} dimensions", total.dims()))
        .with_context("read_roi", format!("{read} with {} dimensions", read.dims()))
        .with_context("write_roi", format!("{write} with {} dimensions", write.dims())))
}

fn check_rois(total: &Roi, read: &Roi, write: &Roi) -> Result<()> {
    for (name, roi) in [("total_roi", total), ("read_roi", read), ("write_roi", write)] {
        if roi.is_empty() {
            return Err(Error::new(ErrorKind::InvalidArgument, format!("{name} is empty"))
                .with_context("got", format!("shape {}", roi.shape()))
                .with_context("expected", "a size of at least 1 on every axis"));
        }
    }
    if !read.contains(write) {
        return Err(Error::new(ErrorKind::InvalidArgument, "write_roi is not inside read_roi")
            .with_context("write_roi", write)
            .with_context("read_roi", read)
            .with_context("expected", "a read ROI that holds the write ROI"));
    }
    Ok(())
}
