//! Masks of the user, a byte per block, and as sets of blocks.

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

/// Sets the cells of boxes of blocks in a mask of one byte per block, row-major over a grid of this shape. A box is
/// its first position and the one after its last, per axis.
///
/// # Errors
/// `InvalidArgument` if there are other than one cell per block, or a box is not in the grid.
///
/// ```
/// use daisy_core::tracking::mask_boxes;
/// let mut cells = [0; 6];
/// mask_boxes(&mut cells, &[2, 3], &[(vec![0, 1], vec![2, 3])]).unwrap();
/// assert_eq!(cells, [0, 1, 1, 0, 1, 1]);
/// ```
pub fn mask_boxes(cells: &mut [u8], shape: &[u64], boxes: &[(Vec<u64>, Vec<u64>)]) -> Result<()> {
    let count = shape.iter().try_fold(1u64, |count, size| count.checked_mul(*size));
    let fits = |(begin, end): &(Vec<u64>, Vec<u64>)| {
        begin.len() == shape.len()
            && end.len() == shape.len()
            && (0..shape.len()).all(|axis| begin[axis] <= end[axis] && end[axis] <= shape[axis])
    };
    if count != Some(cells.len() as u64) || !boxes.iter().all(fits) {
        return Err(Error::new(ErrorKind::InvalidArgument, "boxes of a mask do not fit its grid")
            .with_context("got", format!("{} cells", cells.len()))
            .with_context("expected", format!("one cell per block of {shape:?}, and boxes inside")));
    }
    for (begin, end) in boxes {
        fill(cells, shape, begin, end);
    }
    Ok(())
}

/// Fills a box of a grid: whole ranges where the box has all of the axes behind.
fn fill(cells: &mut [u8], shape: &[u64], begin: &[u64], end: &[u64]) {
    let Some((&size, behind)) = shape.split_first() else { return cells.fill(1) };
    let stride = cells.len() / size.max(1) as usize;
    let part = &mut cells[begin[0] as usize * stride..end[0] as usize * stride];
    if behind.iter().zip(&begin[1..]).zip(&end[1..]).all(|((size, begin), end)| *begin == 0 && end == size) {
        return part.fill(1);
    }
    part.chunks_exact_mut(stride).for_each(|row| fill(row, behind, &begin[1..], &end[1..]));
}
