//! How many files the process may have open: each worker of a large fleet is one.

/// Raises the limit of this process as far as it may by itself. Without effect where it cannot be.
#[cfg(unix)]
pub(super) fn raise_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wished = maximum.map_or(ENOUGH, |maximum| maximum.min(ENOUGH));
    if current.is_some_and(|current| current < wished) {
        // Refused, the run has room for fewer workers, and the accept loop says what happens then.
        setrlimit(Resource::Nofile, Rlimit { current: Some(wished), maximum }).ok();
    }
}

/// Enough for any fleet, and little enough for programs that walk over every possible file.
#[cfg(unix)]
const ENOUGH: u64 = 16_384;

/// There is no such limit here.
#[cfg(not(unix))]
pub(super) fn raise_limit() {}
