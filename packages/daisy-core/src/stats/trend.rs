//! Whether values rise or fall in the order in which they come.

/// The line of least squares through values at positions 0, 1, 2, …, kept up value by value.
///
/// ```
/// use daisy_core::stats::Trend;
/// let mut trend = Trend::default();
/// [1.0, 3.0, 5.0].into_iter().for_each(|value| trend.push(value));
/// assert_eq!(trend.slope(), Some(2.0));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Trend {
    count: u64,
    mean: f64,
    /// Sum of (position − mean position) · (value − mean value).
    co_moment: f64,
}

impl Trend {
    /// Takes the next value.
    #[inline]
    pub fn push(&mut self, value: f64) {
        let position = self.count as f64;
        // The mean of the positions before this one: 0 … count − 1.
        let mean_position = (position - 1.0) / 2.0;
        self.count += 1;
        self.mean += (value - self.mean) / self.count as f64;
        if self.count > 1 {
            self.co_moment += (position - mean_position) * (value - self.mean);
        }
    }

    /// Change per position; `None` for fewer than two values.
    #[must_use]
    pub fn slope(&self) -> Option<f64> {
        if self.count < 2 {
            return None;
        }
        let count = self.count as f64;
        // Sum of squared distances of 0 … n − 1 from their mean.
        let spread = count * (count * count - 1.0) / 12.0;
        Some(self.co_moment / spread)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn slope_of(values: impl IntoIterator<Item = f64>) -> f64 {
        let mut trend = Trend::default();
        values.into_iter().for_each(|value| trend.push(value));
        trend.slope().unwrap()
    }

    /// The textbook formula, in two passes.
    fn two_passes(values: &[f64]) -> f64 {
        let count = values.len() as f64;
        let (mean_x, mean_y) = ((count - 1.0) / 2.0, values.iter().sum::<f64>() / count);
        let pairs = values.iter().enumerate().map(|(x, y)| (x as f64 - mean_x, y - mean_y));
        let (product, square) = pairs.fold((0.0, 0.0), |(p, s), (x, y)| (p + x * y, s + x * x));
        product / square
    }

    proptest! {
        #[test]
        fn equals_the_two_pass_formula(values in proptest::collection::vec(0.0f64..1e3, 2..300)) {
            let (slope, expected) = (slope_of(values.iter().copied()), two_passes(&values));
            prop_assert!((slope - expected).abs() <= 1e-9 * (1.0 + expected.abs()), "{slope} {expected}");
        }
    }

    #[test]
    fn a_run_that_slows_down_rises_and_a_steady_one_does_not() {
        let rising = slope_of((0..1_000_000).map(|block| 0.01 + 1e-6 * f64::from(block)));
        assert!((rising - 1e-6).abs() < 1e-12, "{rising}");
        assert_eq!(slope_of([0.02; 1000]), 0.0);
        let shaking = slope_of((0..100_000).map(|block| if block % 2 == 0 { 0.01 } else { 0.03 }));
        assert!(shaking.abs() < 1e-9, "{shaking}");
    }

    #[test]
    fn small_changes_on_a_large_base_are_not_lost() {
        let slope = slope_of((0..1_000_000).map(|block| 1e6 + 1e-4 * f64::from(block)));
        assert!((slope / 1e-4 - 1.0).abs() < 1e-6, "{slope}");
    }

    #[test]
    fn one_value_has_no_trend() {
        let mut trend = Trend::default();
        assert_eq!(trend.slope(), None);
        trend.push(1.0);
        assert_eq!(trend.slope(), None);
    }
}
