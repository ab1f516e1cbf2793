//! How many blocks came back, from whom.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use crate::ids::{TaskId, WorkerId};

/// Accepted returns of a task or of a worker. Reclaimed attempts are no returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Returns that said that the block succeeded.
    pub succeeded: u64,
    /// Returns that said that it failed.
    pub failed: u64,
    /// Time spent in blocks, by the workers' clocks.
    #[serde(serialize_with = "as_seconds", rename = "busy_seconds")]
    pub busy: Duration,
}

impl Tally {
    /// All accepted returns: what `blocks_processed` says.
    #[must_use]
    pub const fn returns(&self) -> u64 {
        self.succeeded + self.failed
    }

    #[inline]
    fn count(&mut self, has_succeeded: bool, duration: Duration) {
        if has_succeeded {
            self.succeeded += 1;
        } else {
            self.failed += 1;
        }
        self.busy = self.busy.saturating_add(duration);
    }
}

fn as_seconds<S: serde::Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(duration.as_secs_f64())
}

/// The tallies of a run, per task and per worker.
///
/// ```
/// use std::time::Duration;
/// use daisy_core::ids::{TaskId, WorkerId};
/// use daisy_core::stats::RunTally;
/// let mut tally = RunTally::new(1);
/// tally.count(TaskId(0), Some(WorkerId(3)), true, Duration::from_secs(1));
/// tally.count(TaskId(0), None, false, Duration::from_secs(1));
/// assert_eq!(tally.task(TaskId(0)).returns(), 2);
/// assert_eq!(tally.worker(TaskId(0), WorkerId(3)).returns(), 1);
/// ```
#[derive(Clone, Debug, Default)]
pub struct RunTally {
    tasks: Vec<Tally>,
    /// By worker, then task: ids of workers are dense, so the first is a place.
    workers: Vec<Vec<(TaskId, Tally)>>,
    /// Workers with ids too large to be a place.
    others: BTreeMap<(WorkerId, TaskId), Tally>,
}

/// Largest worker id that has a place of its own.
const MOST_PLACES: u64 = 1 << 20;

impl RunTally {
    /// Tallies for a run of so many tasks.
    #[must_use]
    pub fn new(tasks: usize) -> Self {
        Self { tasks: vec![Tally::default(); tasks], ..Self::default() }
    }

    /// Counts an accepted return. Clients that never registered have no worker id: they count for their
    /// task alone.
    #[inline]
    pub fn count(&mut self, task: TaskId, worker: Option<WorkerId>, has_succeeded: bool, duration: Duration) {
        if let Some(tally) = self.tasks.get_mut(task.index()) {
            tally.count(has_succeeded, duration);
        }
        if let Some(worker) = worker {
            self.entry(task, worker).count(has_succeeded, duration);
        }
    }

    fn entry(&mut self, task: TaskId, worker: WorkerId) -> &mut Tally {
        if worker.0 >= MOST_PLACES {
            return self.others.entry((worker, task)).or_default();
        }
        let place = worker.0 as usize;
        if place >= self.workers.len() {
            self.workers.resize_with(place + 1, Vec::new);
        }
        let tasks = &mut self.workers[place];
        let found = tasks.iter().position(|(other, _)| *other == task).unwrap_or_else(|| {
            tasks.push((task, Tally::default()));
            tasks.len() - 1
        });
        &mut tasks[found].1
    }

    /// The tally of a task.
    #[must_use]
    pub fn task(&self, task: TaskId) -> Tally {
        self.tasks.get(task.index()).copied().unwrap_or_default()
    }

    /// The tally of a worker in a task.
    #[must_use]
    pub fn worker(&self, task: TaskId, worker: WorkerId) -> Tally {
        self.workers()
            .find(|entry| (entry.0, entry.1) == (task, worker))
            .map(|entry| entry.2)
            .unwrap_or_default()
    }

    /// Every worker that returned something.
    pub fn workers(&self) -> impl Iterator<Item = (TaskId, WorkerId, Tally)> + '_ {
        let placed = self.workers.iter().enumerate().flat_map(|(place, tasks)| {
            tasks.iter().map(move |(task, tally)| (*task, WorkerId(place as u64), *tally))
        });
        placed.chain(self.others.iter().map(|((worker, task), tally)| (*task, *worker, *tally)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_return_is_counted_once_for_its_task_and_its_worker(
            returns in proptest::collection::vec(
                (0u32..3, proptest::option::of(prop_oneof![0u64..5, Just(u64::MAX)]), any::<bool>()), 0..100),
        ) {
            let mut tally = RunTally::new(3);
            for (task, worker, good) in &returns {
                tally.count(TaskId(*task), worker.map(WorkerId), *good, Duration::from_secs(1));
            }
            for task in (0..3).map(TaskId) {
                let of_task: Vec<_> = returns.iter().filter(|entry| TaskId(entry.0) == task).collect();
                let total = tally.task(task);
                prop_assert_eq!(total.returns(), of_task.len() as u64);
                prop_assert_eq!(total.busy.as_secs(), of_task.len() as u64);
                prop_assert_eq!(total.failed, of_task.iter().filter(|entry| !entry.2).count() as u64);
                let by_workers: u64 =
                    tally.workers().filter(|entry| entry.0 == task).map(|entry| entry.2.returns()).sum();
                let unregistered = of_task.iter().filter(|entry| entry.1.is_none()).count() as u64;
                prop_assert_eq!(by_workers + unregistered, total.returns());
            }
        }
    }
}
