//! Measures what happens around a block.

use daisy_core::Meter as CoreMeter;
use pyo3::prelude::*;

use crate::block_stats::BlockStats;

/// Reads what this process uses, from when it was made.
#[pyclass(name = "Meter", module = "daisy._core", frozen)]
pub(crate) struct Meter {
    meter: CoreMeter,
}

#[pymethods]
impl Meter {
    #[new]
    fn new() -> Self {
        Self { meter: CoreMeter::start() }
    }

    /// What was used since.
    fn read(&self) -> BlockStats {
        BlockStats::from(self.meter.read())
    }
}
