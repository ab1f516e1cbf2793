//! Where the cell of a block is: which chunk, and which place in it.

use crate::geometry::{Grid, Position};

/// Bytes of a chunk of our own making, at most.
const CHUNK_BYTES: u64 = 64 * 1024;

/// A regular chunk grid over an array of grid shape, C order. Chunks at the edges are whole in storage.
#[derive(Clone, Debug)]
pub(super) struct ChunkGrid {
    array: Grid,
    counts: Grid,
    /// Axes merged where cells stay consecutive, first to last.
    axes: Vec<Axis>,
    cells: u64,
}

/// Neighbouring axes that act as one.
#[derive(Clone, Copy, Debug)]
struct Axis {
    size: u64,
    chunk: u64,
    count: u64,
}

/// Consecutive cells of a chunk that are consecutive blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// First cell within the chunk.
    pub(super) cell: u64,
    /// First block index.
    pub(super) index: u64,
    /// How many.
    pub(super) length: u64,
}

/// A chunk shape of at most 64 KiB that holds consecutive blocks: whole trailing axes, a part of the axis
/// before them, one of each axis before that.
pub(super) fn consecutive_chunk(shape: &[u64], item_bytes: u64) -> Vec<u64> {
    let mut room = CHUNK_BYTES / item_bytes;
    let mut chunk = vec![1; shape.len()];
    for axis in (0..shape.len()).rev() {
        chunk[axis] = shape[axis].clamp(1, room.max(1));
        if chunk[axis] < shape[axis] {
            break;
        }
        room /= chunk[axis];
    }
    chunk
}

impl ChunkGrid {
    /// Chunks of this shape over `array`; `None` if there would be 2⁶³ of them, or of their cells.
    pub(super) fn new(array: Grid, chunk: &[u64]) -> Option<Self> {
        let counts: Vec<u64> =
            array.shape().iter().zip(chunk).map(|(size, chunk)| size.div_ceil(*chunk)).collect();
        let counts = Grid::new(&counts).ok()?;
        let cells = chunk.iter().try_fold(1u64, |cells, size| cells.checked_mul(*size))?;
        let mut axes: Vec<Axis> = Vec::new();
        for (&size, &chunk) in array.shape().iter().zip(chunk) {
            let axis = Axis { size, chunk, count: size.div_ceil(chunk) };
            match axes.last_mut() {
                Some(before) if before.chunk == 1 && axis.chunk == 1 => {
                    *before = Axis { size: before.size * size, chunk: 1, count: before.count * axis.count };
                }
                Some(before) if chunk == size => {
                    *before =
                        Axis { size: before.size * size, chunk: before.chunk * chunk, count: before.count };
                }
                _ => axes.push(axis),
            }
        }
        Some(Self { array, counts, axes, cells })
    }

    /// Cells of a chunk.
    pub(super) const fn cells(&self) -> u64 {
        self.cells
    }

    /// Number of chunks.
    pub(super) const fn count(&self) -> u64 {
        self.counts.len()
    }

    /// The array that is cut into chunks.
    pub(super) const fn array(&self) -> &Grid {
        &self.array
    }

    /// Number of the chunk that holds this block, and the block's cell in it.
    #[inline]
    pub(super) fn locate(&self, index: u64) -> (u64, u64) {
        if let [axis] = self.axes[..] {
            return (index / axis.chunk, index % axis.chunk);
        }
        let (mut rest, mut chunk, mut cell) = (index, 0, 0);
        let (mut chunk_stride, mut cell_stride) = (1, 1);
        for axis in self.axes.iter().rev() {
            let place = rest % axis.size;
            rest /= axis.size;
            chunk += place / axis.chunk * chunk_stride;
            cell += place % axis.chunk * cell_stride;
            chunk_stride *= axis.count;
            cell_stride *= axis.chunk;
        }
        (chunk, cell)
    }

    /// Position of a chunk in the grid of chunks.
    pub(super) fn position(&self, chunk: u64) -> Position {
        self.counts.position(chunk)
    }

    /// Calls `visit` for the runs of a chunk; cells past the edge of the array are in none.
    pub(super) fn for_each_run(&self, chunk: u64, mut visit: impl FnMut(Run)) {
        let mut begin = vec![0; self.axes.len()];
        let mut rest = chunk;
        for (axis, begin) in self.axes.iter().zip(&mut begin).rev() {
            *begin = rest % axis.count * axis.chunk;
            rest /= axis.count;
        }
        let extent = |axis: usize| self.axes[axis].chunk.min(self.axes[axis].size - begin[axis]);
        let last = self.axes.len() - 1;
        let mut place = vec![0; self.axes.len()];
        'runs: loop {
            let (mut cell, mut index) = (0, 0);
            for (axis, place) in place.iter().enumerate() {
                cell = cell * self.axes[axis].chunk + place;
                index = index * self.axes[axis].size + begin[axis] + place;
            }
            visit(Run { cell, index, length: extent(last) });
            for axis in (0..last).rev() {
                place[axis] += 1;
                if place[axis] < extent(axis) {
                    continue 'runs;
                }
                place[axis] = 0;
            }
            return;
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn arrays() -> impl Strategy<Value = (Vec<u64>, Vec<u64>)> {
        proptest::collection::vec((1u64..7, 1u64..9), 1..5).prop_map(|axes| axes.into_iter().unzip())
    }

    proptest! {
        #[test]
        fn cells_are_where_zarr_puts_them((shape, chunk) in arrays()) {
            let grid = Grid::new(&shape).unwrap();
            let chunks = ChunkGrid::new(grid, &chunk).unwrap();
            let inside = Grid::new(&chunk).unwrap();
            for index in 0..grid.len() {
                let position = grid.position(index);
                let (mut number, mut cell) = (position, position);
                for axis in 0..shape.len() {
                    number[axis] /= chunk[axis];
                    cell[axis] %= chunk[axis];
                }
                let (found, place) = chunks.locate(index);
                prop_assert_eq!(chunks.position(found), number);
                prop_assert_eq!(place, inside.index(&cell));
            }
        }

        #[test]
        fn runs_visit_every_block_once((shape, chunk) in arrays()) {
            let grid = Grid::new(&shape).unwrap();
            let chunks = ChunkGrid::new(grid, &chunk).unwrap();
            let mut seen = vec![0; grid.len() as usize];
            for number in 0..chunks.count() {
                chunks.for_each_run(number, |run| {
                    for step in 0..run.length {
                        assert_eq!(chunks.locate(run.index + step), (number, run.cell + step));
                        seen[(run.index + step) as usize] += 1;
                    }
                });
            }
            prop_assert!(seen.iter().all(|count| *count == 1));
        }

        #[test]
        fn our_own_chunks_are_one_run(shape in proptest::collection::vec(1u64..3000, 1..4), bytes in 1u64..9) {
            let grid = Grid::new(&shape).unwrap();
            let chunk = consecutive_chunk(&shape, bytes);
            prop_assert!(chunk.iter().product::<u64>() * bytes <= CHUNK_BYTES);
            let chunks = ChunkGrid::new(grid, &chunk).unwrap();
            for number in [0, chunks.count() / 2, chunks.count() - 1] {
                let mut runs = 0;
                chunks.for_each_run(number, |_| runs += 1);
                prop_assert_eq!(runs, 1);
            }
        }
    }
}
