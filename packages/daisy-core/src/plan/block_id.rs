//! Public block ids: the Cantor pyramid numbers of grid positions.
//!
//! `id(g₁) = g₁`, `id(g₁ … gₙ) = C(s + n − 1, n) + id(g₁ … gₙ₋₁)` with `s = Σ gᵢ` and C the binomial
//! coefficient. Numbers of daisy 1.x, kept because people store them; independent of the total shape.

use crate::geometry::MAX_DIMS;

/// Largest id: what fits in a signed 64-bit integer, as databases hold them.
const LARGEST: u128 = i64::MAX as u128;

/// Id of the position `offsets + position`, or `None` past [`LARGEST`].
pub(super) fn block_id(offsets: &[u64], position: &[u64]) -> Option<u64> {
    let (mut id, mut sum) = (0u128, 0u128);
    for (axis, (offset, step)) in offsets.iter().zip(position).enumerate() {
        sum += u128::from(*offset) + u128::from(*step);
        id += first_of_shell(sum, axis as u32 + 1)?;
        if id > LARGEST {
            return None;
        }
    }
    Some(id as u64)
}

/// Position whose id this is, in `dims` dimensions.
pub(super) fn index_position(id: u64, dims: usize) -> [u64; MAX_DIMS] {
    let mut position = [0; MAX_DIMS];
    let mut rest = u128::from(id);
    let mut outer = None;
    for axis in (0..dims).rev() {
        let sum = shell_of(rest, axis as u32 + 1);
        rest -= first_of_shell(sum, axis as u32 + 1).unwrap_or(0);
        if let Some(outer) = outer {
            position[axis + 1] = (outer - sum) as u64;
        }
        outer = Some(sum);
    }
    position[0] = outer.unwrap_or(0) as u64;
    position
}

/// C(sum + dims − 1, dims): how many positions have a smaller sum. `None` past [`LARGEST`].
fn first_of_shell(sum: u128, dims: u32) -> Option<u128> {
    let mut value = 1u128;
    if sum == 0 {
        return Some(0);
    }
    for k in 1..=u128::from(dims) {
        // Exact at every step: a product of k consecutive numbers is divisible by k!.
        value = value.checked_mul(sum - 1 + k)? / k;
        // Later factors only make it larger.
        if value > LARGEST {
            return None;
        }
    }
    Some(value)
}

/// Largest sum whose shell does not start past `id`.
fn shell_of(id: u128, dims: u32) -> u128 {
    let (mut low, mut high) = (0u128, id + 1);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if first_of_shell(middle, dims).is_some_and(|first| first <= id) {
            low = middle
        } else {
            high = middle
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_dimensions_count_diagonals() {
        let ids: Vec<_> = [[0, 0], [0, 1], [1, 0], [0, 2], [1, 1], [2, 0]]
            .iter()
            .map(|position| block_id(&[0, 0], position).expect("small"))
            .collect();
        assert_eq!(ids, [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn ids_lead_back_to_positions() {
        for dims in 1..=MAX_DIMS {
            for id in (0..3000).chain([1 << 40, i64::MAX as u64]) {
                let position = index_position(id, dims);
                assert_eq!(block_id(&vec![0; dims], &position[..dims]), Some(id), "{dims} {id}");
            }
        }
    }

    #[test]
    fn ids_past_the_limit_are_refused() {
        assert_eq!(block_id(&[0, 0], &[1 << 33, 1 << 33]), None);
        assert_eq!(block_id(&[0], &[1 << 62]), Some(1 << 62));
    }
}
