//! How workers come in: for the first time, or back after a lost connection.

use std::rc::Rc;

use rustc_hash::FxHashSet;

use super::driver::Driver;
use super::outbox::Outbox;
use crate::error::{Error, ErrorKind, Result};
use crate::ids::{BlockRef, TaskId, WorkerId};
use crate::scheduler::Event;
use crate::wire::Grant;

/// Most blocks that one worker may hold, whatever it asks for.
const MOST_CAPACITY: u32 = 4096;

/// What a worker says of itself when it registers.
pub(super) struct Registration {
    pub(super) worker: Option<WorkerId>,
    pub(super) task: String,
    pub(super) incarnation: [u8; 16],
    pub(super) capacity: u32,
    pub(super) held: Vec<Grant>,
}

/// A worker that was let in.
pub(super) struct Admitted {
    pub(super) worker: WorkerId,
    pub(super) task: TaskId,
    pub(super) reports_seen: u64,
    pub(super) outbox: Rc<Outbox>,
}

impl Driver {
    /// Lets a worker in, or says why not; then nothing has changed.
    pub(super) fn register(&mut self, asked: Registration) -> Result<Admitted> {
        let Registration { worker, task, incarnation, capacity, held } = asked;
        let task = self.find_task(&task)?;
        if self.scheduler.is_finished() {
            return Err(Error::new(ErrorKind::Refused, "the run has ended"));
        }
        let now = self.now();
        let worker = worker.unwrap_or_else(|| {
            let worker = self.scheduler.next_worker_id();
            self.sessions.expect(worker, task, true);
            self.record.appeared(worker, task, false, now);
            worker
        });
        let session = self.sessions.admit(worker, task, incarnation)?;
        self.connections += 1;
        let outbox = Rc::new(Outbox::new(self.connections, now));
        let (before, external) = (session.outbox.replace(Rc::clone(&outbox)), session.external);
        let reports_seen = session.reports_seen;
        if let Some(before) = before {
            // The worker has noticed the loss of its old connection before we did.
            before.cut();
            self.feed(Event::WorkerDisconnected { worker });
        }
        self.take_back_lost(worker, &held);
        let capacity = capacity.min(MOST_CAPACITY);
        self.feed(Event::WorkerConnected { worker, task, capacity, external });
        Ok(Admitted { worker, task, reports_seen, outbox })
    }

    /// A worker asks for blocks, which it has not done before.
    pub(super) fn take_ready(&mut self, worker: WorkerId, capacity: u32) {
        self.feed(Event::WorkerReady { worker, capacity: capacity.min(MOST_CAPACITY) });
    }

    /// Blocks that were granted over a lost connection and never arrived go back, free of charge.
    pub(super) fn take_back_lost(&mut self, worker: WorkerId, held: &[Grant]) {
        let held: FxHashSet<(u64, u32)> = held.iter().map(|grant| (grant.index, grant.attempt)).collect();
        let is_lost = |(block, attempt): &(BlockRef, u32)| !held.contains(&(block.index, *attempt));
        let blocks: Vec<BlockRef> =
            self.scheduler.held_by(worker).filter(is_lost).map(|(block, _)| block).collect();
        if !blocks.is_empty() {
            self.feed(Event::Returned { worker, blocks });
        }
    }

    fn find_task(&self, name: &str) -> Result<TaskId> {
        let pipeline = self.scheduler.pipeline();
        pipeline.find(name).ok_or_else(|| {
            let names: Vec<&str> = pipeline.tasks().iter().take(10).map(|task| task.name()).collect();
            Error::new(ErrorKind::Refused, "there is no such task in this run")
                .with_context("got", format!("{name:?}"))
                .with_context("expected", format!("one of {names:?}"))
        })
    }
}
