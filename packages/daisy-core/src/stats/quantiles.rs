//! Quantiles in bounded memory.

/// Values kept as they are; more go into buckets alone.
const MOST_EXACT: usize = 1024;
/// Buckets per factor of two, as bits: the middle of a bucket is off by less than 0.8 %.
const SUB_BITS: u32 = 6;
/// Smallest and largest exponent of two that is told apart: about a nanosecond, and four months.
const EXPONENTS: (i64, i64) = (-30, 23);
const BUCKETS: usize = ((EXPONENTS.1 - EXPONENTS.0 + 1) as usize) << SUB_BITS;

/// Quantiles of values that are at least zero: exact for few, within 0.8 % for many.
#[derive(Clone, Debug, Default)]
pub(super) struct Quantiles {
    exact: Vec<f64>,
    /// Empty until the exact values are too many.
    buckets: Vec<u64>,
    count: u64,
}

impl Quantiles {
    #[inline]
    pub(super) fn push(&mut self, value: f64) {
        self.count += 1;
        if self.buckets.is_empty() {
            if self.exact.len() < MOST_EXACT {
                self.exact.push(value);
                return;
            }
            self.buckets = vec![0; BUCKETS];
            for value in std::mem::take(&mut self.exact) {
                self.buckets[bucket_of(value)] += 1;
            }
        }
        self.buckets[bucket_of(value)] += 1;
    }

    /// The value that a share `q` of all values does not exceed; `None` if there are none.
    pub(super) fn quantile(&self, q: f64) -> Option<f64> {
        if self.count == 0 {
            return None;
        }
        let place = q.clamp(0.0, 1.0) * (self.count - 1) as f64;
        if self.buckets.is_empty() {
            let mut sorted = self.exact.clone();
            sorted.sort_by(f64::total_cmp);
            let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
            return Some(low + (high - low) * place.fract());
        }
        let mut before = 0;
        for (bucket, count) in self.buckets.iter().enumerate() {
            before += count;
            if before as f64 > place {
                return Some(middle_of(bucket));
            }
        }
        None
    }

    /// How many values exceed a limit.
    pub(super) fn above(&self, limit: f64) -> u64 {
        if self.buckets.is_empty() {
            return self.exact.iter().filter(|value| **value > limit).count() as u64;
        }
        self.buckets[bucket_of(limit) + 1..].iter().sum()
    }

    /// Numbers of values in ranges of growing width: `(from, to, count)`, `per_octave` to a factor of two.
    pub(super) fn histogram(&self, per_octave: usize) -> Vec<(f64, f64, u64)> {
        let mut buckets = self.buckets.clone();
        if buckets.is_empty() {
            buckets = vec![0; BUCKETS];
            self.exact.iter().for_each(|value| buckets[bucket_of(*value)] += 1);
        }
        let width = (1 << SUB_BITS) / per_octave;
        let bars = buckets.chunks(width).enumerate();
        let mut bars: Vec<_> = bars
            .map(|(bar, counts)| (edge_of(bar * width), edge_of((bar + 1) * width), counts.iter().sum()))
            .collect();
        let is_empty = |bar: &(f64, f64, u64)| bar.2 == 0;
        let first = bars.iter().position(|bar| !is_empty(bar)).unwrap_or(bars.len());
        bars.drain(..first);
        while bars.last().is_some_and(is_empty) {
            bars.pop();
        }
        bars
    }
}

/// The exponent and the first bits of the mantissa, counted from the smallest.
#[inline]
fn bucket_of(value: f64) -> usize {
    let bits = (value.to_bits() >> (52 - SUB_BITS)) as i64;
    let smallest = (1023 + EXPONENTS.0) << SUB_BITS;
    // Negative values, and NaN with its sign, count as zero.
    if value.is_sign_negative() || value.is_nan() {
        0
    } else {
        (bits - smallest).clamp(0, BUCKETS as i64 - 1) as usize
    }
}

fn edge_of(bucket: usize) -> f64 {
    let smallest = ((1023 + EXPONENTS.0) << SUB_BITS) as u64;
    f64::from_bits((bucket as u64 + smallest) << (52 - SUB_BITS))
}

fn middle_of(bucket: usize) -> f64 {
    f64::midpoint(edge_of(bucket), edge_of(bucket + 1))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn quantiles_are_close_however_many(
            values in proptest::collection::vec(1e-6f64..1e4, 1..60),
            repeat in 1usize..60,
            q in 0.0f64..1.0,
        ) {
            let mut quantiles = Quantiles::default();
            for _ in 0..repeat {
                values.iter().for_each(|value| quantiles.push(*value));
            }
            let mut all = values.repeat(repeat);
            all.sort_by(f64::total_cmp);
            let place = q * (all.len() - 1) as f64;
            let (low, high) = (all[place.floor() as usize], all[place.ceil() as usize]);
            let found = quantiles.quantile(q).unwrap();
            prop_assert!(low * 0.992 <= found && found <= high * 1.008, "{low} {found} {high}");
            prop_assert_eq!(quantiles.histogram(4).iter().map(|bar| bar.2).sum::<u64>(), all.len() as u64);
        }
    }

    #[test]
    fn strange_values_break_nothing() {
        let mut quantiles = Quantiles::default();
        for value in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e300, 1e-300].repeat(400) {
            quantiles.push(value);
        }
        assert!(quantiles.quantile(0.5).is_some());
        assert!(quantiles.above(1.0) > 0);
    }
}
