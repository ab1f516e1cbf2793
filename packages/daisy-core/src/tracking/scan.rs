//! Finds runs of nonzero cells in raw bytes, a word at a time.

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// Calls `visit(first, length)` for each run of nonzero cells of `size` bytes, in order. Runs that touch
/// are one run.
pub(super) fn for_each_run(bytes: &[u8], size: usize, visit: impl FnMut(usize, usize)) {
    if size == 1 { runs_of_bytes(bytes, visit) } else { runs_of_cells(bytes, size, visit) }
}

fn runs_of_bytes(bytes: &[u8], mut visit: impl FnMut(usize, usize)) {
    let mut index = 0;
    loop {
        index = skip(bytes, index, |word| word == 0, |byte| byte == 0);
        if index == bytes.len() {
            return;
        }
        let first = index;
        index = skip(bytes, index, has_no_zero_byte, |byte| byte != 0);
        visit(first, index - first);
    }
}

/// The first position from `index` on that `byte` does not hold for; words that hold as a whole go fast.
#[inline]
fn skip(bytes: &[u8], mut index: usize, word: impl Fn(u64) -> bool, byte: impl Fn(u8) -> bool) -> usize {
    while index < bytes.len() {
        let eight = bytes[index..].first_chunk::<8>();
        if eight.is_some_and(|eight| word(u64::from_le_bytes(*eight))) {
            index += 8;
            continue;
        }
        if !byte(bytes[index]) {
            return index;
        }
        index += 1;
    }
    index
}

#[inline]
const fn has_no_zero_byte(word: u64) -> bool {
    word.wrapping_sub(ONES) & !word & HIGH == 0
}

fn runs_of_cells(bytes: &[u8], size: usize, mut visit: impl FnMut(usize, usize)) {
    let mut run: Option<usize> = None;
    let count = bytes.len() / size;
    for (index, cell) in bytes.chunks_exact(size).enumerate() {
        match (cell.iter().any(|byte| *byte != 0), run) {
            (true, None) => run = Some(index),
            (false, Some(first)) => {
                visit(first, index - first);
                run = None;
            }
            _ => {}
        }
    }
    if let Some(first) = run {
        visit(first, count - first);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn runs_cover_exactly_the_nonzero_cells(
            cells in proptest::collection::vec(prop_oneof![3 => Just(0u16), 3 => Just(1u16), 1 => Just(0x100u16)], 0..200),
            repeat in 1usize..40,
        ) {
            let cells: Vec<u16> = cells.iter().flat_map(|cell| std::iter::repeat_n(*cell, repeat)).collect();
            let expected: Vec<usize> = (0..cells.len()).filter(|index| cells[*index] != 0).collect();
            let wide: Vec<u8> = cells.iter().flat_map(|cell| cell.to_le_bytes()).collect();
            let narrow: Vec<u8> = cells.iter().map(|cell| u8::from(*cell != 0) * 7).collect();
            for (bytes, size) in [(wide, 2), (narrow, 1)] {
                let (mut found, mut last_end) = (Vec::new(), None);
                for_each_run(&bytes, size, |first, length| {
                    assert!(length > 0 && last_end != Some(first), "runs must not touch");
                    last_end = Some(first + length);
                    found.extend(first..first + length);
                });
                prop_assert_eq!(&found, &expected);
            }
        }
    }
}
