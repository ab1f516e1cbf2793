//! A scheduler without workers: blocks are acquired and released by hand.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::counters::TaskState;
use super::frontier::Frontier;
use super::prior::Prior;
use crate::error::{Error, ErrorKind, Result};
use crate::ids::{BlockRef, TaskId, WorkerId};
use crate::plan::Pipeline;

/// What releasing a block led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Released {
    /// It is completed.
    Completed,
    /// It will be given out again.
    Retried,
    /// It has failed for good.
    Failed,
}

/// Who holds the blocks that are acquired by hand.
const HOLDER: WorkerId = WorkerId(0);

/// Order, retries and orphans as in a run, for inspection and for loops of one's own.
#[derive(Debug)]
pub struct ManualScheduler {
    frontier: Frontier,
    held: FxHashSet<BlockRef>,
}

impl ManualScheduler {
    /// A scheduler for this pipeline with nothing done; `prior` has an entry per task, or is empty.
    #[must_use]
    pub fn new(pipeline: Arc<Pipeline>, prior: Vec<Prior>) -> Self {
        let mut frontier = Frontier::new(pipeline, prior);
        while let Some(task) = frontier.take_touched() {
            frontier.end_if_settled(task);
        }
        Self { frontier, held: FxHashSet::default() }
    }

    /// The pipeline.
    #[must_use]
    pub fn pipeline(&self) -> &Arc<Pipeline> {
        self.frontier.pipeline()
    }

    /// State and counts of a task.
    #[must_use]
    pub fn task_state(&self, task: TaskId) -> &TaskState {
        &self.frontier.task(task).state
    }

    /// The next ready block of a task, or `None` if none is ready.
    pub fn acquire(&mut self, task: TaskId) -> Option<u64> {
        let blocks = self.frontier.task_mut(task);
        let index = match blocks.retries.take(HOLDER, true) {
            Some(index) => {
                blocks.count_lease();
                index
            }
            None => self.take_fresh(task)?,
        };
        self.held.insert(BlockRef { task, index });
        Some(index)
    }

    fn take_fresh(&mut self, task: TaskId) -> Option<u64> {
        loop {
            if let Some(index) = self.frontier.take_fresh(task) {
                return Some(index);
            }
            if !self.frontier.is_behind(task) {
                return None;
            }
        }
    }

    /// Gives back a block that was acquired, with how it went.
    ///
    /// # Errors
    /// `Refused` if the block is not held: never acquired, or released before. Nothing is changed then.
    pub fn release(&mut self, block: BlockRef, succeeded: bool) -> Result<Released> {
        if !self.held.remove(&block) {
            return Err(Error::new(ErrorKind::Refused, "a block was released that is not held")
                .with_operation("release_block")
                .with_context("got", block)
                .with_context("expected", "a block that was acquired and not released since"));
        }
        let released = if succeeded {
            self.frontier.complete(block, false);
            Released::Completed
        } else if self.frontier.fail_attempt(block, HOLDER) {
            Released::Failed
        } else {
            Released::Retried
        };
        while let Some(task) = self.frontier.take_touched() {
            self.frontier.end_if_settled(task);
        }
        Ok(released)
    }
}
