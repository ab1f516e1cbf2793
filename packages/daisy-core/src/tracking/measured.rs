//! The arrays that keep what blocks took.

use std::path::Path;

use super::array::Array;
use super::element::Element;
use crate::error::Result;
use crate::geometry::Grid;
use crate::measurement::Measurement;

/// Names and types of the arrays, in the order of [`cells`].
pub(super) const ARRAYS: [(&str, Element); 5] = [
    ("wall_seconds", Element::Float32),
    ("cpu_seconds", Element::Float32),
    ("peak_rss_bytes", Element::UInt64),
    ("io_read_bytes", Element::UInt64),
    ("io_write_bytes", Element::UInt64),
];

/// One array per quantity. Blocks that nobody measured are NaN in seconds and 0 in bytes.
#[derive(Debug)]
pub(super) struct MeasuredArrays {
    arrays: Vec<Array>,
}

impl MeasuredArrays {
    pub(super) fn open(path: &Path, grid: &Grid) -> Result<Self> {
        let arrays = ARRAYS
            .iter()
            .map(|(name, element)| Array::open_or_create(path.join(name), grid, *element))
            .collect::<Result<_>>()?;
        Ok(Self { arrays })
    }

    pub(super) fn keep(&mut self, index: u64, measurement: &Measurement) -> Result<()> {
        let seconds = [measurement.wall_seconds, measurement.cpu_seconds];
        let bytes = [measurement.peak_rss_bytes, measurement.io_read_bytes, measurement.io_write_bytes];
        let (first, rest) = self.arrays.split_at_mut(seconds.len());
        for (array, value) in first.iter_mut().zip(seconds) {
            array.set(index, &(value as f32).to_le_bytes())?;
        }
        for (array, value) in rest.iter_mut().zip(bytes) {
            array.set(index, &value.to_le_bytes())?;
        }
        Ok(())
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        self.arrays.iter_mut().try_for_each(Array::flush)
    }
}
