//! Who waits for whom along an edge of the pipeline.
//!
//! A block of the downstream task waits for exactly the blocks of the upstream task whose write ROI meets
//! its read ROI. Both directions are boxes of the other task's grid, a few divisions each.

use crate::geometry::{GridBox, MAX_DIMS, Roi};
use crate::plan::BlockLayout;

/// The upstream blocks that write what this block of `downstream` reads.
#[must_use]
pub fn writers(upstream: &BlockLayout, downstream: &BlockLayout, index: u64) -> GridBox {
    upstream.writers_of(&downstream.read_roi(index))
}

/// The downstream blocks that read what this block of `upstream` writes.
#[must_use]
pub fn readers(upstream: &BlockLayout, downstream: &BlockLayout, index: u64) -> GridBox {
    downstream.readers_of(&upstream.write_roi(index))
}

/// The downstream blocks that read what any of these upstream blocks writes.
#[must_use]
pub fn readers_of_box(upstream: &BlockLayout, downstream: &BlockLayout, blocks: &GridBox) -> GridBox {
    if blocks.is_empty() {
        return GridBox::new(downstream.dims(), [0; MAX_DIMS], [0; MAX_DIMS]);
    }
    let mut last = blocks.end;
    last[..upstream.dims()].iter_mut().for_each(|end| *end -= 1);
    // Write ROIs of neighbouring blocks touch, so together the blocks of a box write a box.
    let begin = upstream.write_roi(upstream.grid().index(&blocks.begin)).begin();
    let end = upstream.write_roi(upstream.grid().index(&last)).end();
    downstream.readers_of(&Roi::between(begin, end))
}

/// The downstream blocks that read anything that `upstream` writes; the others need not wait for it.
#[must_use]
pub fn covered(upstream: &BlockLayout, downstream: &BlockLayout) -> GridBox {
    if upstream.block_count() == 0 {
        return GridBox::new(downstream.dims(), [0; MAX_DIMS], [0; MAX_DIMS]);
    }
    downstream.readers_of(&upstream.written_roi())
}
