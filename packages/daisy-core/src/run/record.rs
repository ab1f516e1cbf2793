//! The recorder of a run, and which workers it knows.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::ids::{BlockRef, TaskId, WorkerId};
use crate::measurement::Measurement;
use crate::plan::Pipeline;
use crate::scheduler::Now;
use crate::stats::{KnownWorker, Recorder, Return, RunStats};

/// Takes note of returns and of workers; what both drivers feed.
pub(super) struct Record {
    recorder: Recorder,
    workers: BTreeMap<WorkerId, KnownWorker>,
}

impl Record {
    pub(super) fn new(pipeline: &Pipeline) -> Self {
        Self { recorder: Recorder::new(pipeline), workers: BTreeMap::new() }
    }

    /// A worker was launched, or one that this run did not start has registered.
    pub(super) fn appeared(&mut self, worker: WorkerId, task: TaskId, launched: bool, now: Now) {
        let known = KnownWorker { task, worker, launched, started: now, ended: None, exit: None };
        self.workers.insert(worker, known);
    }

    /// A worker ended.
    pub(super) fn exited(&mut self, worker: WorkerId, cause: &str, now: Now) {
        if let Some(known) = self.workers.get_mut(&worker) {
            known.ended = Some(now);
            known.exit = Some(cause.to_owned());
        }
    }

    /// A return was accepted.
    #[inline]
    pub(super) fn returned(
        &mut self,
        (worker, block): (WorkerId, BlockRef),
        has_succeeded: bool,
        duration: Duration,
        measurement: Option<&Measurement>,
        at: Now,
    ) {
        let worker = Some(worker);
        self.recorder.returned(&Return { block, worker, has_succeeded, duration, measurement, at });
    }

    /// What was recorded.
    pub(super) fn finish(&self, pipeline: &Pipeline) -> RunStats {
        let known: Vec<KnownWorker> = self.workers.values().cloned().collect();
        self.recorder.finish(pipeline, &known)
    }
}
