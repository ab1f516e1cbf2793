//! The recorder of a run, and which workers it knows.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::ids::{BlockRef, TaskId, WorkerId};
use crate::measurement::Measurement;
use crate::plan::Pipeline;
use crate::scheduler::{BlockEnd, Now, Prior, RunOutcome};
use crate::stats::{CellState, KnownWorker, Recorder, Return, RunStats};

/// Takes note of returns and of workers; what both drivers feed.
pub(super) struct Record {
    recorder: Recorder,
    workers: BTreeMap<WorkerId, KnownWorker>,
}

impl Record {
    pub(super) fn new(pipeline: &Pipeline, prior: &[Prior]) -> Self {
        Self { recorder: Recorder::new(pipeline, prior), workers: BTreeMap::new() }
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

    /// A block came to its end.
    #[inline]
    pub(super) fn settled(&mut self, block: BlockRef, end: BlockEnd) {
        self.recorder.settled(block, end);
    }

    /// What was recorded of a run with this outcome.
    pub(super) fn finish(&self, pipeline: &Pipeline, outcome: &RunOutcome) -> RunStats {
        let known: Vec<KnownWorker> = self.workers.values().cloned().collect();
        let mut stats = self.recorder.finish(pipeline, &known);
        for (cells, task) in stats.cells.iter_mut().zip(&outcome.tasks) {
            cells.set_all(&task.orphaned, CellState::Orphaned);
        }
        stats
    }
}
