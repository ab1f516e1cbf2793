//! How workers go: with a good-bye, by a lost connection, by the end of their process.

use std::time::Duration;

use super::driver::Driver;
use crate::ids::WorkerId;
use crate::scheduler::{Event, Now, WorkerExit};
use crate::wire::ServerMessage;

/// Time for the connection of an ended process to end, too. It takes longer only if a child of the process holds it.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Workers whose process ended while their connection still stood: what they sent last is to be read before what
/// they held is taken back.
#[derive(Default)]
pub(super) struct Exits(Vec<(Now, WorkerId, Ended)>);

/// What has ended: a worker, or what started it and did not stay.
enum Ended {
    Worker(WorkerExit),
    Starter(WorkerExit),
}

impl Exits {
    fn take(&mut self, worker: WorkerId) -> Option<WorkerExit> {
        let place = self.0.iter().position(|(_, other, _)| *other == worker)?;
        let (Ended::Worker(exit) | Ended::Starter(exit)) = self.0.swap_remove(place).2;
        Some(exit)
    }

    fn take_due(&mut self, now: Now) -> Option<(WorkerId, Ended)> {
        let place = self.0.iter().position(|(until, _, _)| *until <= now)?;
        let (_, worker, ended) = self.0.swap_remove(place);
        Some((worker, ended))
    }
}

impl Driver {
    /// The process or thread of a worker has ended.
    pub(super) fn take_exit(&mut self, worker: WorkerId, exit: WorkerExit) {
        let now = self.now();
        self.sessions.end(worker, "has ended");
        self.record.exited(worker, &exit.cause, now);
        if self.sessions.outbox(worker).is_some() {
            self.exits.0.push((now + LAST_WORDS, worker, Ended::Worker(exit)));
        } else {
            self.feed(Event::WorkerExited { worker, exit });
        }
    }

    /// What started a worker is done. If the connection of the worker ends now, too, it has stayed until then.
    pub(super) fn take_detached(&mut self, worker: WorkerId, exit: WorkerExit) {
        if self.sessions.outbox(worker).is_some() {
            self.exits.0.push((self.now() + LAST_WORDS, worker, Ended::Starter(exit)));
        } else {
            self.feed(Event::WorkerDetached { worker, exit });
        }
    }

    /// A worker has said good-bye, and is told which of its reports have arrived: all. It has reported on every block that it started, so that what it holds still was
    /// under way to it and goes back, free of charge.
    pub(super) fn take_leave(&mut self, worker: WorkerId) {
        self.sessions.end(worker, "has said good-bye");
        self.feed(Event::WorkerDraining { worker });
        self.take_back_lost(worker, &[]);
        if let Some(session) = self.sessions.find(worker)
            && let Some(outbox) = &session.outbox
        {
            outbox.send(ServerMessage::Heartbeat { reports_seen: session.reports_seen });
        }
    }

    /// A connection has ended; of no meaning if its worker has another one by now.
    pub(super) fn disconnect(&mut self, worker: WorkerId, connection: u64) {
        let Some(session) = self.sessions.find(worker) else { return };
        if session.outbox.as_ref().is_none_or(|outbox| outbox.connection != connection) {
            return;
        }
        session.outbox = None;
        let event = match self.exits.take(worker) {
            Some(exit) => Event::WorkerExited { worker, exit },
            None => Event::WorkerDisconnected { worker },
        };
        self.feed(event);
    }

    /// Waits no longer for connections that outlive their workers.
    pub(super) fn end_silent_exits(&mut self, now: Now) {
        while let Some((worker, ended)) = self.exits.take_due(now) {
            let exit = match ended {
                Ended::Worker(exit) => exit,
                Ended::Starter(exit) => {
                    self.feed(Event::WorkerDetached { worker, exit });
                    continue;
                }
            };
            if let Some(outbox) = self.sessions.find(worker).and_then(|session| session.outbox.take()) {
                outbox.cut();
            }
            self.feed(Event::WorkerExited { worker, exit });
        }
    }
}
