//! `daisy.BlockStats`: what one block took.

use daisy_core::Measurement;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// What was measured of one block.
///
/// Parameters
/// ----------
/// wall_seconds, cpu_seconds : float
///     Time on the clock, and of all processors together (threads and children of the block included).
/// peak_rss_bytes : int
///     Largest resident memory of the worker up to the end of the block.
/// io_read_bytes, io_write_bytes : int
///     Bytes through read and write calls.
/// gpu_util_pct, gpu_mem_bytes : float, int
///     Percent and bytes, for users who measure a GPU; NaN and 0 if nobody did.
///
/// >>> import daisy
/// >>> stats = daisy.BlockStats(2.0, 1.5, 10**8, 4096, 0)
/// >>> stats.wall_seconds, stats.gpu_mem_bytes
/// (2.0, 0)
#[pyclass(name = "BlockStats", module = "daisy", frozen, eq, get_all, from_py_object)]
#[derive(Clone, PartialEq)]
pub(crate) struct BlockStats {
    /// Seconds on the clock.
    wall_seconds: f64,
    /// Seconds of processor time.
    cpu_seconds: f64,
    /// Largest resident memory in bytes.
    peak_rss_bytes: u64,
    /// Bytes read.
    io_read_bytes: u64,
    /// Bytes written.
    io_write_bytes: u64,
    /// Utilisation of a GPU in percent, or NaN.
    gpu_util_pct: f64,
    /// Memory of a GPU in bytes.
    gpu_mem_bytes: u64,
}

impl BlockStats {
    /// As the core has it.
    pub(crate) const fn measurement(&self) -> Measurement {
        Measurement {
            wall_seconds: self.wall_seconds,
            cpu_seconds: self.cpu_seconds,
            peak_rss_bytes: self.peak_rss_bytes,
            io_read_bytes: self.io_read_bytes,
            io_write_bytes: self.io_write_bytes,
            gpu_util_pct: self.gpu_util_pct,
            gpu_mem_bytes: self.gpu_mem_bytes,
        }
    }
}

impl From<Measurement> for BlockStats {
    fn from(measurement: Measurement) -> Self {
        Self {
            wall_seconds: measurement.wall_seconds,
            cpu_seconds: measurement.cpu_seconds,
            peak_rss_bytes: measurement.peak_rss_bytes,
            io_read_bytes: measurement.io_read_bytes,
            io_write_bytes: measurement.io_write_bytes,
            gpu_util_pct: measurement.gpu_util_pct,
            gpu_mem_bytes: measurement.gpu_mem_bytes,
        }
    }
}

#[pymethods]
impl BlockStats {
    #[new]
    #[pyo3(signature = (wall_seconds, cpu_seconds, peak_rss_bytes, io_read_bytes, io_write_bytes, gpu_util_pct=f64::NAN, gpu_mem_bytes=0))]
    const fn new(
        wall_seconds: f64,
        cpu_seconds: f64,
        peak_rss_bytes: u64,
        io_read_bytes: u64,
        io_write_bytes: u64,
        gpu_util_pct: f64,
        gpu_mem_bytes: u64,
    ) -> Self {
        Self {
            wall_seconds,
            cpu_seconds,
            peak_rss_bytes,
            io_read_bytes,
            io_write_bytes,
            gpu_util_pct,
            gpu_mem_bytes,
        }
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let stats = slf.get();
        let arguments = (
            stats.wall_seconds,
            stats.cpu_seconds,
            stats.peak_rss_bytes,
            stats.io_read_bytes,
            stats.io_write_bytes,
            stats.gpu_util_pct,
            stats.gpu_mem_bytes,
        );
        (slf.get_type(), arguments).into_pyobject(slf.py())
    }

    fn __repr__(&self) -> String {
        format!(
            "BlockStats(wall_seconds={}, cpu_seconds={}, peak_rss_bytes={}, io_read_bytes={}, io_write_bytes={}, \
             gpu_util_pct={}, gpu_mem_bytes={})",
            self.wall_seconds,
            self.cpu_seconds,
            self.peak_rss_bytes,
            self.io_read_bytes,
            self.io_write_bytes,
            self.gpu_util_pct,
            self.gpu_mem_bytes
        )
    }
}
