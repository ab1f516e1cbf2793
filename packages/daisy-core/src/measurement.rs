//! What one block took, as measured in its worker.

use serde::{Deserialize, Serialize};

/// What one attempt of a block took. Sent by workers, added up by the server, kept by tracking stores.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Seconds on the clock.
    pub wall_seconds: f64,
    /// Seconds of processor time: all threads, and children that ended.
    pub cpu_seconds: f64,
    /// Largest resident memory of the worker up to the end of the block.
    pub peak_rss_bytes: u64,
    /// Bytes read through system calls.
    pub io_read_bytes: u64,
    /// Bytes written through system calls.
    pub io_write_bytes: u64,
    /// Utilisation of a GPU in percent; NaN if nobody measured it.
    pub gpu_util_pct: f64,
    /// Memory of a GPU in bytes; 0 if nobody measured it.
    pub gpu_mem_bytes: u64,
}

impl Default for Measurement {
    /// Nothing used, and no GPU looked at.
    fn default() -> Self {
        Self {
            wall_seconds: 0.0,
            cpu_seconds: 0.0,
            peak_rss_bytes: 0,
            io_read_bytes: 0,
            io_write_bytes: 0,
            gpu_util_pct: f64::NAN,
            gpu_mem_bytes: 0,
        }
    }
}
