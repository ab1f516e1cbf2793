//! A mask of the user as a set of blocks.

use super::scan::for_each_run;
use crate::error::{Error, ErrorKind, Result};
use crate::geometry::IndexSet;

/// The blocks whose cell is not zero in a mask of one byte per block, row-major over the block grid.
///
/// # Errors
/// `InvalidArgument` unless there are `blocks` bytes.
///
/// ```
/// use daisy_core::tracking::mask_indices;
/// let masked = mask_indices(&[0, 1, 255, 0], 4).unwrap();
/// assert_eq!(masked.iter().collect::<Vec<_>>(), [1, 2]);
/// ```
pub fn mask_indices(cells: &[u8], blocks: u64) -> Result<IndexSet> {
    if cells.len() as u64 != blocks {
        return Err(Error::new(ErrorKind::InvalidArgument, "a mask needs one cell per block")
            .with_context("got", format!("{} cells", cells.len()))
            .with_context("expected", format!("{blocks} cells")));
    }
    let mut set = IndexSet::new(blocks);
    for_each_run(cells, 1, |first, length| {
        set.insert_range(first as u64, length as u64);
    });
    Ok(set)
}
