//! Who the workers are, apart from the connections that they come over.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::outbox::Outbox;
use crate::error::{Error, ErrorKind, Result};
use crate::ids::{TaskId, WorkerId};

/// One worker that was launched or has registered.
pub(super) struct Session {
    /// The task whose blocks it processes.
    pub(super) task: TaskId,
    /// Chosen by the worker once: who repeats it is the same worker. `None` before its first registration.
    incarnation: Option<[u8; 16]>,
    /// Its present connection.
    pub(super) outbox: Option<Rc<Outbox>>,
    /// Reports that arrived, over all its connections.
    pub(super) reports_seen: u64,
    /// Why it may not come back, if so.
    ended: Option<&'static str>,
    /// Whether it was started by hand.
    pub(super) external: bool,
}

/// Every worker of the run.
#[derive(Default)]
pub(super) struct Sessions {
    by_id: FxHashMap<WorkerId, Session>,
}

impl Sessions {
    /// Expects a worker that is being launched.
    pub(super) fn expect(&mut self, worker: WorkerId, task: TaskId, external: bool) {
        let session =
            Session { task, incarnation: None, outbox: None, reports_seen: 0, ended: None, external };
        self.by_id.insert(worker, session);
    }

    pub(super) fn find(&mut self, worker: WorkerId) -> Option<&mut Session> {
        self.by_id.get_mut(&worker)
    }

    /// Lets a worker in under its id, or says why not. Changes nothing if it says no.
    pub(super) fn admit(
        &mut self,
        worker: WorkerId,
        task: TaskId,
        incarnation: [u8; 16],
    ) -> Result<&mut Session> {
        let refuse = |problem: &str, expected: &str| {
            Err(Error::new(ErrorKind::Refused, format!("worker id {problem}"))
                .with_context("got", worker.0)
                .with_context("expected", expected))
        };
        let Some(session) = self.by_id.get_mut(&worker) else {
            return refuse(
                "is not known",
                "an id that this run launched, or none for a worker started by hand",
            );
        };
        if session.task != task {
            return refuse("belongs to another task", "the task that it was launched for");
        }
        if let Some(reason) = session.ended {
            return refuse(reason, "an id that the run still waits for; this worker is not needed any more");
        }
        if *session.incarnation.get_or_insert(incarnation) != incarnation {
            return refuse("is taken by another worker", "one worker for each id");
        }
        Ok(session)
    }

    /// The worker will not come back, and who comes under its id is turned away. Its connection, if any, stays.
    pub(super) fn end(&mut self, worker: WorkerId, why: &'static str) {
        if let Some(session) = self.by_id.get_mut(&worker) {
            session.ended.get_or_insert(why);
        }
    }

    /// The outbox of a worker that is connected.
    #[inline]
    pub(super) fn outbox(&self, worker: WorkerId) -> Option<&Rc<Outbox>> {
        self.by_id.get(&worker)?.outbox.as_ref()
    }

    /// Every worker that is connected.
    pub(super) fn connected(&self) -> impl Iterator<Item = (&Session, &Rc<Outbox>)> {
        self.by_id.values().filter_map(|session| Some((session, session.outbox.as_ref()?)))
    }
}
