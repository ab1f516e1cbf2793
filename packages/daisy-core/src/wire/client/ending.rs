//! Ending the process of a worker from a thread that is not its own.

use std::time::Duration;

/// Exit code of a worker that a block kept for longer than its timeout.
pub(super) const TIMED_OUT: i32 = 87;
/// Exit code of a worker whose driver is gone.
pub(super) const DRIVER_GONE: i32 = 88;
/// Exit code of a worker that the driver ended.
pub(super) const KILLED: i32 = 89;
/// Time for an exit in order before the hard way.
const PATIENCE: Duration = Duration::from_secs(1);

/// Says why, and ends the process: in order, or, if code at exit gets stuck beside threads that still run, at once.
pub(super) fn end_process(code: i32, why: &str) -> ! {
    eprintln!("daisy: worker ends: {why}");
    // Without the thread there is still the exit in order.
    std::thread::Builder::new()
        .name("daisy-end".into())
        .spawn(|| {
            std::thread::sleep(PATIENCE);
            kill_self();
        })
        .ok();
    std::process::exit(code)
}

#[cfg(unix)]
fn kill_self() {
    // Signals to oneself are always allowed.
    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL).ok();
}

#[cfg(not(unix))]
fn kill_self() {
    std::process::abort()
}
