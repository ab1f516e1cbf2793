//! One worker as the scheduler sees it.

use std::time::Duration;

use super::Settings;
use super::action::KillReason;
use super::event::Now;
use super::lease::Leases;
use crate::ids::TaskId;

/// Where a worker is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Asked for; it has not connected yet.
    Launching,
    /// Connected, but it has not asked for a block: what it is given might lie there for ever.
    Registered,
    /// It can be given blocks.
    Connected,
    /// It finishes what it runs and takes no more.
    Draining,
    /// Told that there is nothing left for it.
    Dismissed,
    /// Its connection is lost; it may come back.
    Disconnected { since: Now },
    /// It said that it takes no more, held nothing, and is gone: it left in order, and its process ends soon.
    Left { since: Now },
    /// Given up; only the end of its process is awaited.
    Gone,
}

impl Phase {
    /// Whether a worker in it may still process blocks, now or later.
    pub(super) const fn is_alive(self) -> bool {
        self.is_connected() || matches!(self, Self::Launching | Self::Disconnected { .. })
    }

    /// Whether a worker in it has a connection, and is not on its way out.
    pub(super) const fn is_connected(self) -> bool {
        matches!(self, Self::Registered | Self::Connected | Self::Draining)
    }

    /// Whether a worker in it has asked for nothing.
    pub(super) const fn is_silent(self) -> bool {
        matches!(self, Self::Registered)
    }

    /// Whether a worker in it can take a block, now or soon.
    pub(super) const fn is_available(self) -> bool {
        matches!(self, Self::Launching | Self::Connected)
    }
}

/// A worker and what it holds.
#[derive(Clone, Debug)]
pub(super) struct Worker {
    pub(super) task: TaskId,
    pub(super) phase: Phase,
    pub(super) external: bool,
    /// Whether the end of its process will never be told: it was started by hand, or by what did not stay.
    pub(super) detached: bool,
    pub(super) capacity: u32,
    pub(super) leases: Leases,
    /// Blocks of its that succeeded.
    pub(super) completed: u64,
    pub(super) launched_at: Now,
    /// When its deadlines are looked at next, at the latest.
    pub(super) watched_at: Option<Now>,
    /// Whether it is in its task's line of workers that hold nothing.
    pub(super) is_in_line: bool,
}

impl Worker {
    pub(super) fn launching(task: TaskId, now: Now) -> Self {
        Self {
            task,
            phase: Phase::Launching,
            external: false,
            detached: false,
            capacity: 1,
            leases: Leases::default(),
            completed: 0,
            launched_at: now,
            watched_at: None,
            is_in_line: false,
        }
    }

    /// Whether it can be given blocks.
    #[inline]
    pub(super) const fn takes_blocks(&self) -> bool {
        matches!(self.phase, Phase::Connected)
    }

    /// When something must be done about it, and what, unless it does something before.
    pub(super) fn deadline(
        &self,
        settings: &Settings,
        timeout: Option<Duration>,
    ) -> Option<(Now, KillReason)> {
        let lost = match self.phase {
            Phase::Launching => {
                Some((self.launched_at + settings.connect_timeout, KillReason::NeverConnected))
            }
            Phase::Disconnected { since } | Phase::Left { since } => {
                Some((since + settings.reconnect_grace, KillReason::ConnectionLost))
            }
            Phase::Registered | Phase::Connected | Phase::Draining | Phase::Dismissed | Phase::Gone => None,
        };
        let late = timeout
            .filter(|_| !self.leases.is_empty())
            .map(|timeout| (self.leases.started + timeout, KillReason::Timeout));
        match (lost, late) {
            (Some(lost), Some(late)) => Some(if late.0 < lost.0 { late } else { lost }),
            (one, other) => one.or(other),
        }
    }
}
