//! The facts after a run.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::counters::TaskState;
use crate::geometry::IndexSet;
use crate::ids::BlockRef;

/// Different errors kept per task; further ones are counted as one group.
const MOST_GROUPS: usize = 100;
/// Example blocks kept per error.
const MOST_EXAMPLES: usize = 5;
/// Longest text that makes two errors the same.
const KEY_BYTES: usize = 300;

/// Failed attempts with the same error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorGroup {
    /// The exception, one line.
    pub summary: String,
    /// How many attempts failed with it.
    pub count: u64,
    /// The first traceback or cause, whole as it came.
    pub first: Arc<str>,
    /// Some of the blocks.
    pub examples: Vec<BlockRef>,
}

/// Errors of one task, grouped by their last line.
#[derive(Clone, Debug, Default)]
pub(super) struct ErrorLog {
    groups: BTreeMap<String, (u64, ErrorGroup)>,
    noted: u64,
}

impl ErrorLog {
    pub(super) fn note(&mut self, block: BlockRef, error: &Arc<str>) {
        self.noted += 1;
        let mut summary = summary_of(error);
        if !self.groups.contains_key(&summary) && self.groups.len() >= MOST_GROUPS {
            summary = "(other errors)".to_owned();
        }
        let noted = self.noted;
        let (_, group) = self.groups.entry(summary.clone()).or_insert_with(|| {
            (noted, ErrorGroup { summary, count: 0, first: Arc::clone(error), examples: Vec::new() })
        });
        group.count += 1;
        if group.examples.len() < MOST_EXAMPLES && !group.examples.contains(&block) {
            group.examples.push(block);
        }
    }

    /// The groups in the order in which they first came.
    pub(super) fn groups(&self) -> Vec<ErrorGroup> {
        let mut groups: Vec<_> = self.groups.values().collect();
        groups.sort_by_key(|(first, _)| *first);
        groups.into_iter().map(|(_, group)| group.clone()).collect()
    }
}

/// The last line that says something: in a Python traceback that is the exception.
fn summary_of(error: &str) -> String {
    let line = error.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or("(no message)");
    let mut end = line.len().min(KEY_BYTES);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    line[..end].to_owned()
}

/// What became of one task.
#[derive(Clone, Debug)]
pub struct TaskOutcome {
    /// The state with its counts.
    pub state: TaskState,
    /// Indices of the blocks of which every attempt failed.
    pub failed: IndexSet,
    /// Indices of the blocks that could not run.
    pub orphaned: IndexSet,
    /// Errors of attempts, grouped.
    pub errors: Vec<ErrorGroup>,
    /// How the first worker that ended badly ended.
    pub first_worker_error: Option<Arc<str>>,
    /// How the last worker that ended badly ended.
    pub last_worker_error: Option<Arc<str>>,
}

/// What became of a run, by task.
#[derive(Clone, Debug)]
pub struct RunOutcome {
    /// One entry per task of the pipeline.
    pub tasks: Vec<TaskOutcome>,
    /// Whether the run was cancelled.
    pub cancelled: bool,
}

impl RunOutcome {
    /// Whether every block of every task is completed or did not have to run.
    #[must_use]
    pub fn has_succeeded(&self) -> bool {
        self.tasks.iter().all(|task| task.state.has_succeeded())
    }
}
