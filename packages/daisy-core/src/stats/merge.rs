//! Joins what the server counted with what launchers know.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use super::tally::{RunTally, Tally};
use crate::ids::{TaskId, WorkerId};

/// What is known of a worker besides what it returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownWorker {
    /// The task.
    pub task: TaskId,
    /// The id that it was given.
    pub worker: WorkerId,
    /// Whether this run started it; others came by themselves.
    pub launched: bool,
    /// When it was started or, if it came by itself, registered; after the begin of the run.
    pub started: Duration,
    /// When it ended; `None` if that is not known.
    pub ended: Option<Duration>,
    /// How it ended.
    pub exit: Option<String>,
}

/// All that is known of a worker of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorkerStats {
    /// Position of its task in the pipeline.
    pub task: u32,
    /// Its id.
    pub worker: u64,
    /// Whether this run started it; others came by themselves.
    pub launched: bool,
    /// Accepted returns: `succeeded + failed`.
    pub blocks_processed: u64,
    /// What it returned.
    #[serde(flatten)]
    pub tally: Tally,
    /// When it was started or registered: seconds after the begin of the run.
    pub started_seconds: Option<f64>,
    /// Seconds after the begin of the run, if this run saw it end.
    pub ended_seconds: Option<f64>,
    /// How it ended, if this run saw it end.
    pub exit: Option<String>,
}

/// One entry per worker, by task and id: those that are known, whether they returned anything or not, and those
/// that returned something.
#[must_use]
pub fn merge(tally: &RunTally, known: &[KnownWorker]) -> Vec<WorkerStats> {
    let mut entries: BTreeMap<(TaskId, WorkerId), WorkerStats> = BTreeMap::new();
    for known in known {
        let entry =
            entries.entry((known.task, known.worker)).or_insert_with(|| blank(known.task, known.worker));
        entry.launched |= known.launched;
        // A worker that was started again under its id began when it first did.
        let started = known.started.as_secs_f64();
        entry.started_seconds = Some(entry.started_seconds.map_or(started, |first| first.min(started)));
        entry.ended_seconds = known.ended.map(|ended| ended.as_secs_f64());
        entry.exit.clone_from(&known.exit);
    }
    for (task, worker, counted) in tally.workers() {
        let entry = entries.entry((task, worker)).or_insert_with(|| blank(task, worker));
        entry.tally = counted;
        entry.blocks_processed = counted.returns();
    }
    entries.into_values().collect()
}

fn blank(task: TaskId, worker: WorkerId) -> WorkerStats {
    WorkerStats {
        task: task.0,
        worker: worker.0,
        launched: false,
        blocks_processed: 0,
        tally: Tally::default(),
        started_seconds: None,
        ended_seconds: None,
        exit: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launched(task: u32, worker: u64) -> KnownWorker {
        KnownWorker {
            task: TaskId(task),
            worker: WorkerId(worker),
            launched: true,
            started: Duration::from_secs(worker),
            ended: Some(Duration::from_secs(10)),
            exit: Some("code 0".to_owned()),
        }
    }

    #[test]
    fn entries_join_by_task_and_worker() {
        let mut tally = RunTally::new(2);
        let mut count = |task, worker, times| {
            (0..times).for_each(|_| tally.count(TaskId(task), worker, true, Duration::from_secs(1)));
        };
        count(0, Some(WorkerId(0)), 3);
        count(1, Some(WorkerId(7)), 2);
        count(1, None, 5);
        // The same number in another task is another worker.
        count(1, Some(WorkerId(0)), 1);
        let merged = merge(&tally, &[launched(0, 0), launched(0, 1)]);
        let facts: Vec<_> = merged
            .iter()
            .map(|entry| (entry.task, entry.worker, entry.launched, entry.blocks_processed))
            .collect();
        assert_eq!(facts, [(0, 0, true, 3), (0, 1, true, 0), (1, 0, false, 1), (1, 7, false, 2)]);
        assert_eq!(merged[0].exit.as_deref(), Some("code 0"));
        assert_eq!(merged[3].ended_seconds, None);
        assert_eq!(tally.task(TaskId(1)).returns(), 8, "clients that never registered count for their task");
    }
}
