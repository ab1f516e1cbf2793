//! The life of blocks: which are ready, and what the end of one means for the others.
//!
//! Knows nothing of workers but who failed a block last. Memory follows the front: a page of counts exists
//! only while some of its blocks are touched and not settled.

use std::collections::VecDeque;
use std::sync::Arc;

use super::Prior;
use super::checks::Checks;
use super::counters::{Counters, TaskState};
use super::pending::Pending;
use super::retries::Retries;
use super::roots::Roots;
use crate::geometry::{GridBox, GridPositions, IndexSet, PAGE};
use crate::graph::{Within, covered, readers, writers};
use crate::ids::{BlockRef, TaskId, WorkerId};
use crate::plan::Pipeline;

/// Dependents of one block that are released at once; the others when blocks are short.
const EAGER_DEPENDENTS: u64 = 4096;
/// Steps of put-off work done at a time.
const SLICE: usize = 4096;
/// Ready blocks to keep at hand while there is put-off work.
const ENOUGH_READY: usize = 1024;

/// Blocks of one task.
#[derive(Debug)]
pub(super) struct TaskBlocks {
    pub(super) within: Within,
    /// Skipped from the start: done in an earlier run, or masked.
    pub(super) prior: IndexSet,
    /// Completed, failed or skipped.
    pub(super) settled: IndexSet,
    pub(super) failed: IndexSet,
    pub(super) orphaned: IndexSet,
    pub(super) state: TaskState,
    pub(super) retries: Retries,
    pub(super) checks: Option<Checks>,
    pending: Pending,
    queue: VecDeque<u64>,
    roots: Roots,
    /// Where the search for blocks that wait for nothing goes on, for tasks that are partly done.
    scan_from: Option<u64>,
    /// Blocks of which one dependency has ended, not yet accounted for.
    deferred: VecDeque<GridPositions>,
    touched: bool,
    is_end_announced: bool,
}

/// All blocks of a run.
#[derive(Debug)]
pub(super) struct Frontier {
    pub(super) pipeline: Arc<Pipeline>,
    pub(super) tasks: Vec<TaskBlocks>,
    /// Tasks that may have become able to give out a block, or have ended.
    touched: Vec<TaskId>,
}

impl Frontier {
    /// The blocks of a pipeline, less what is skipped from the start.
    pub(super) fn new(pipeline: Arc<Pipeline>, mut prior: Vec<Prior>) -> Self {
        prior.resize_with(pipeline.tasks().len(), Prior::default);
        let skipped: Vec<(IndexSet, u64)> = pipeline
            .task_ids()
            .zip(prior)
            .map(|(id, prior)| prior.into_skipped(pipeline.task(id).layout().block_count()))
            .collect();
        let tasks = pipeline.task_ids().map(|id| TaskBlocks::new(&pipeline, id, &skipped)).collect();
        let touched = pipeline.task_ids().collect();
        Self { pipeline, tasks, touched }
    }

    pub(super) fn task(&self, id: TaskId) -> &TaskBlocks {
        &self.tasks[id.index()]
    }

    pub(super) fn task_mut(&mut self, id: TaskId) -> &mut TaskBlocks {
        &mut self.tasks[id.index()]
    }

    /// Gives the tasks that changed since the last call.
    pub(super) fn take_touched(&mut self) -> Option<TaskId> {
        let id = self.touched.pop()?;
        self.tasks[id.index()].touched = false;
        Some(id)
    }

    #[inline]
    pub(super) fn touch(&mut self, id: TaskId) {
        if !std::mem::replace(&mut self.tasks[id.index()].touched, true) {
            self.touched.push(id);
        }
    }

    /// Has a task looked at again, after all others that changed.
    pub(super) fn touch_last(&mut self, id: TaskId) {
        if !std::mem::replace(&mut self.tasks[id.index()].touched, true) {
            self.touched.insert(0, id);
        }
    }

    /// The next block of a task that never failed and was not checked, now counted as leased.
    #[inline]
    pub(super) fn take_fresh(&mut self, id: TaskId) -> Option<u64> {
        let task = &mut self.tasks[id.index()];
        let index = match task.queue.pop_front() {
            Some(index) => index,
            None => match task.roots.take() {
                Some(index) => index,
                None => {
                    self.catch_up(id);
                    self.tasks[id.index()].queue.pop_front()?
                }
            },
        };
        self.tasks[id.index()].count_lease();
        Some(index)
    }

    /// Does put-off work while blocks are short. Whether some is left that should be done soon.
    pub(super) fn catch_up(&mut self, id: TaskId) -> bool {
        let pipeline = Arc::clone(&self.pipeline);
        for _ in 0..SLICE {
            let task = &mut self.tasks[id.index()];
            if task.queue.len() >= ENOUGH_READY || task.state.has_ended() {
                return false;
            }
            if let Some(walk) = task.deferred.front_mut() {
                match walk.next() {
                    Some(position) => {
                        let index = task.within_grid_index(&position);
                        self.release_one(&pipeline, id, index);
                    }
                    None => {
                        task.deferred.pop_front();
                    }
                }
            } else if let Some(from) = task.scan_from {
                self.scan_one(&pipeline, id, from);
            } else {
                return false;
            }
        }
        self.tasks[id.index()].queue.len() < ENOUGH_READY
    }

    /// Whether there is put-off work and blocks are short.
    pub(super) fn is_behind(&self, id: TaskId) -> bool {
        let task = &self.tasks[id.index()];
        !task.state.has_ended()
            && task.queue.len() < ENOUGH_READY
            && (task.scan_from.is_some() || !task.deferred.is_empty())
    }

    fn scan_one(&mut self, pipeline: &Pipeline, id: TaskId, from: u64) {
        let Some(index) = self.tasks[id.index()].prior.next_missing(from) else {
            self.tasks[id.index()].scan_from = None;
            return;
        };
        let waits_for = self.dependency_count(pipeline, id, index);
        let task = &mut self.tasks[id.index()];
        task.scan_from = (index + 1 < task.prior.len()).then_some(index + 1);
        if waits_for == 0 {
            task.make_ready(index);
        }
    }

    /// A leased block succeeded, or was found to be done.
    pub(super) fn complete(&mut self, block: BlockRef, skipped: bool) {
        let task = &mut self.tasks[block.task.index()];
        task.settle(block.index);
        if let Some(counters) = task.state.running() {
            counters.leased -= 1;
            *(if skipped { &mut counters.skipped } else { &mut counters.completed }) += 1;
        }
        self.release_dependents(block);
        self.touch(block.task);
    }

    /// A leased block goes back to where it came from, nothing having happened to it.
    pub(super) fn put_back(&mut self, block: BlockRef) {
        let task = &mut self.tasks[block.task.index()];
        task.count_unlease();
        if task.retries.is_known(block.index) {
            task.retries.push(block.index);
        } else if let Some(checks) = &mut task.checks {
            checks.put_back(block.index);
        } else {
            task.queue.push_front(block.index);
        }
        self.touch(block.task);
    }

    /// An attempt of a leased block failed: it is ready again, or has failed for good. Whether it has.
    pub(super) fn fail_attempt(&mut self, block: BlockRef, by: WorkerId) -> bool {
        let most = self.pipeline.task(block.task).options().retry.max_retries;
        let task = &mut self.tasks[block.task.index()];
        if let Some(counters) = task.state.running() {
            counters.failed_attempts += 1;
        }
        let is_final = task.retries.note_failure(block.index, by) > most;
        if is_final {
            task.settle(block.index);
            task.failed.insert(block.index);
            if let Some(counters) = task.state.running() {
                counters.leased -= 1;
                counters.failed += 1;
            }
            self.orphan_dependents(block);
        } else {
            task.count_unlease();
            task.retries.push(block.index);
        }
        self.touch(block.task);
        is_final
    }

    fn release_dependents(&mut self, block: BlockRef) {
        let pipeline = Arc::clone(&self.pipeline);
        let layout = pipeline.task(block.task).layout();
        let within = self.tasks[block.task.index()].within;
        if !within.is_free() {
            let position = layout.grid().position(block.index);
            within.for_each_successor(&position, &mut |next| self.release_one(&pipeline, block.task, next));
        }
        for downstream in pipeline.downstream(block.task) {
            let below = pipeline.task(*downstream).layout();
            let dependents = readers(layout, below, block.index);
            if dependents.volume() <= EAGER_DEPENDENTS {
                dependents.for_each_row(below.grid(), |first, length| {
                    for next in first..first + length {
                        self.release_one(&pipeline, *downstream, next);
                    }
                });
            } else {
                self.tasks[downstream.index()].deferred.push_back(dependents.positions());
                self.touch(*downstream);
            }
        }
    }

    /// One of the blocks that this one waits for has ended well.
    #[inline]
    fn release_one(&mut self, pipeline: &Pipeline, id: TaskId, index: u64) {
        let task = &mut self.tasks[id.index()];
        if task.prior.contains(index) || task.state.has_ended() {
            return;
        }
        if *task.pending.slot(index) == 0 {
            let waits_for = self.dependency_count(pipeline, id, index);
            *self.tasks[id.index()].pending.slot(index) = 1 + waits_for;
        }
        let task = &mut self.tasks[id.index()];
        let slot = task.pending.slot(index);
        debug_assert!(*slot > 1, "a block was released more often than it waits for");
        *slot -= 1;
        if *slot == 1 {
            task.make_ready(index);
            self.touch(id);
        }
    }

    /// For how many blocks one waits at the beginning of the run.
    fn dependency_count(&self, pipeline: &Pipeline, id: TaskId, index: u64) -> u32 {
        let task = &self.tasks[id.index()];
        let layout = pipeline.task(id).layout();
        let mut count = 0u64;
        if !task.within.is_free() {
            let position = layout.grid().position(index);
            if task.prior.count() == 0 {
                count = u64::from(task.within.predecessor_count(&position));
            } else {
                task.within.for_each_predecessor(&position, &mut |other| {
                    count += u64::from(!task.prior.contains(other));
                });
            }
        }
        for upstream in pipeline.upstream(id) {
            let above = pipeline.task(*upstream).layout();
            let prior = &self.tasks[upstream.index()].prior;
            let boxed = writers(above, layout, index);
            count += boxed.volume();
            if prior.count() > 0 {
                boxed.for_each_row(above.grid(), |first, length| count -= prior.count_range(first, length));
            }
        }
        u32::try_from(count).unwrap_or(u32::MAX - 1)
    }

    /// Ends every task that has no block left to run, and gives it back once.
    pub(super) fn end_if_settled(&mut self, id: TaskId) -> bool {
        let state = &mut self.tasks[id.index()].state;
        match state {
            TaskState::Running(counters) if counters.remaining() == 0 => {
                *state = TaskState::Done(std::mem::take(counters));
                true
            }
            _ => false,
        }
    }
}

impl TaskBlocks {
    /// The blocks of a task; `skipped` has, per task, what is skipped from the start and how much is masked.
    fn new(pipeline: &Pipeline, id: TaskId, skipped: &[(IndexSet, u64)]) -> Self {
        let (prior, masked) = skipped[id.index()].clone();
        let plan = pipeline.task(id);
        let layout = plan.layout();
        let conflict = plan.options().read_write_conflict;
        let within = if prior.count() == 0 {
            Within::new(layout, conflict)
        } else {
            Within::with_gaps(layout, conflict)
        };
        let boxes: Vec<GridBox> =
            pipeline.upstream(id).iter().map(|up| covered(pipeline.task(*up).layout(), layout)).collect();
        // If all blocks wait for a task of which nothing is done yet, none is ready, whatever else is done.
        let all_wait = pipeline
            .upstream(id)
            .iter()
            .zip(&boxes)
            .any(|(up, covered)| skipped[up.index()].0.count() == 0 && *covered == layout.grid().whole());
        let is_partly_done =
            pipeline.upstream(id).iter().chain([&id]).any(|task| skipped[task.index()].0.count() > 0);
        let mut roots = Roots::new(layout.grid(), within.levels(), boxes);
        let mut scan_from = None;
        if is_partly_done {
            roots.clear();
            scan_from = (!all_wait && !prior.is_full()).then_some(0);
        }
        let skipped = prior.count();
        let counters = Counters {
            total: layout.block_count(),
            ready: roots.left(),
            waiting: layout.block_count() - skipped - roots.left(),
            skipped,
            masked,
            ..Counters::default()
        };
        Self {
            within,
            settled: prior.clone(),
            failed: IndexSet::new(layout.block_count()),
            orphaned: IndexSet::new(layout.block_count()),
            prior,
            state: TaskState::Running(counters),
            retries: Retries::default(),
            checks: plan.options().checked.then(Checks::default),
            pending: Pending::default(),
            queue: VecDeque::new(),
            roots,
            scan_from,
            deferred: VecDeque::new(),
            touched: true,
            is_end_announced: false,
        }
    }

    /// Whether the task has ended and this is the first time that it is asked.
    pub(super) fn announce_end(&mut self) -> bool {
        self.state.has_ended() && !std::mem::replace(&mut self.is_end_announced, true)
    }

    fn within_grid_index(&self, position: &crate::geometry::Position) -> u64 {
        self.within.grid().index(position)
    }

    fn make_ready(&mut self, index: u64) {
        self.queue.push_back(index);
        if let Some(counters) = self.state.running() {
            counters.waiting -= 1;
            counters.ready += 1;
        }
    }

    #[inline]
    pub(super) fn count_lease(&mut self) {
        if let Some(counters) = self.state.running() {
            counters.ready -= 1;
            counters.leased += 1;
        }
    }

    pub(super) fn count_unlease(&mut self) {
        if let Some(counters) = self.state.running() {
            counters.leased -= 1;
            counters.ready += 1;
        }
    }

    #[inline]
    fn settle(&mut self, index: u64) {
        self.settled.insert(index);
        self.retries.forget(index);
        if self.settled.is_page_full(index / PAGE) {
            self.pending.forget(index / PAGE);
        }
    }

    /// How many blocks could be given to workers now, as far as is known.
    #[inline]
    pub(super) fn grantable(&self) -> u64 {
        let fresh = match &self.checks {
            Some(checks) => checks.cleared() as u64,
            None => self.queue.len() as u64 + self.roots.left(),
        };
        fresh + self.retries.len() as u64
    }

    /// Blocks in line that never failed: queued and roots.
    pub(super) fn fresh(&self) -> u64 {
        self.queue.len() as u64 + self.roots.left()
    }

    /// Forgets all that was going to run.
    pub(super) fn clear(&mut self) {
        self.queue.clear();
        self.roots.clear();
        self.deferred.clear();
        self.retries.clear();
        self.scan_from = None;
        if let Some(checks) = &mut self.checks {
            *checks = Checks::default();
        }
        self.pending = Pending::default();
    }
}
