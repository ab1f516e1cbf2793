//! The end of a worker's process when its driver ends, and what forks of it must know.

use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::prelude::*;

static IS_FORK: AtomicBool = AtomicBool::new(false);

/// Ends this process when the thread that started it ends; returns whether the parent is still there.
///
/// The question must be asked after the signal is set: a parent that died before sends none.
#[pyfunction]
pub(crate) fn end_with_parent(parent: u32) -> bool {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))
    {
        // The connection to the driver ends the worker, too, only later.
        eprintln!("daisy: this worker will not end at once if its driver is killed: {error}");
    }
    #[cfg(unix)]
    return std::os::unix::process::parent_id() == parent;
    #[cfg(not(unix))]
    {
        _ = parent;
        true
    }
}

/// Called in the child of a fork: it must not speak for the worker that it was forked from.
#[pyfunction]
pub(crate) fn note_fork() {
    IS_FORK.store(true, Ordering::Relaxed);
}

/// Whether this process was forked from a worker.
pub(crate) fn is_fork() -> bool {
    IS_FORK.load(Ordering::Relaxed)
}
