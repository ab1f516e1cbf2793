//! Who holds a store.

use std::fmt;
use std::fs;

use serde::{Deserialize, Serialize};

use super::clock;

/// The process that runs on a store, as written into its lock file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Name of its machine.
    pub host: String,
    /// Its process id there.
    pub pid: u32,
    /// When the process started, in units of its operating system: tells it from a later one of the same id.
    pub started: Option<u64>,
    /// Since when it holds the store, in UTC.
    pub since: String,
}

/// Whether the process of a holder lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    Alive,
    Dead,
    /// It is on another machine, or this one does not tell.
    Unknown,
}

impl Holder {
    /// This process, on a machine of this name, from now on.
    #[must_use]
    pub fn this_process(host: &str) -> Self {
        let pid = std::process::id();
        Self { host: host.to_owned(), pid, started: start_of(pid), since: clock::now() }
    }

    /// Whether its process lives, as seen from a machine of this name.
    pub(super) fn life(&self, host: &str) -> Life {
        if self.host != host || !fs::exists("/proc/self/stat").unwrap_or(false) {
            return Life::Unknown;
        }
        match (start_of(self.pid), self.started) {
            (None, _) => Life::Dead,
            (Some(now), Some(then)) if now != then => Life::Dead,
            _ => Life::Alive,
        }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} on {} since {}", self.pid, self.host, self.since)
    }
}

/// Start of a process in clock ticks since boot, from `/proc`; `None` if it is not there or has ended.
fn start_of(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The command comes second, in parentheses, and may hold anything; the state and the rest follow it.
    let after = &stat[stat.rfind(')')? + 2..];
    let mut fields = after.split(' ');
    if matches!(fields.next(), Some("Z" | "X")) {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn the_living_are_told_from_the_dead() {
        let this = Holder::this_process("here");
        assert_eq!(this.life("here"), Life::Alive);
        assert_eq!(this.life("elsewhere"), Life::Unknown);
        let recycled = Holder { started: this.started.map(|ticks| ticks + 1), ..this.clone() };
        assert_eq!(recycled.life("here"), Life::Dead);
        assert_eq!(Holder { pid: u32::MAX, ..this }.life("here"), Life::Dead);
    }
}
