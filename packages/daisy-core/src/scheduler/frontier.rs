//! The life of blocks: which are ready, and what the end of one means for the others.
//!
//! Knows nothing of workers but who failed a block last. Memory follows the front: a page of counts exists
//! only while some of its blocks are touched and not settled.

use std::collections::VecDeque;
use std::sync::Arc;

use super::Prior;
use super::checks::Checks;
use super::counters::{Counters, TaskState};
use super::dependencies::Dependencies;
use super::pending::Pending;
use super::retries::Retries;
use super::roots::Roots;
use crate::geometry::{GridPositions, IndexSet, PAGE};
use crate::graph::readers;
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
    pub(super) dependencies: Dependencies,
    pub(super) tasks: Vec<TaskBlocks>,
    /// Tasks that may have become able to give out a block, or have ended.
    touched: Vec<TaskId>,
}

impl Frontier {
    /// The blocks of a pipeline, less what is skipped from the start.
    pub(super) fn new(pipeline: Arc<Pipeline>, prior: Vec<Prior>) -> Self {
        let touched = pipeline.task_ids().collect();
        let dependencies = Dependencies::new(pipeline, prior);
        let tasks = dependencies.pipeline.task_ids().map(|id| TaskBlocks::new(&dependencies, id)).collect();
        Self { dependencies, tasks, touched }
    }

    #[inline]
    pub(super) const fn pipeline(&self) -> &Arc<Pipeline> {
        &self.dependencies.pipeline
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
        for _ in 0..SLICE {
            let task = &mut self.tasks[id.index()];
            if task.queue.len() >= ENOUGH_READY || task.state.has_ended() {
                return false;
            }
            if let Some(walk) = task.deferred.front_mut() {
                match walk.next() {
                    Some(position) => {
                        let index = self.dependencies.layout(id).grid().index(&position);
                        self.release_one(id, index);
                    }
                    None => {
                        task.deferred.pop_front();
                    }
                }
            } else if let Some(from) = task.scan_from {
                self.scan_one(id, from);
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

    fn scan_one(&mut self, id: TaskId, from: u64) {
        let prior = &self.dependencies.prior[id.index()];
        let found = prior.next_missing(from);
        let next = found.filter(|index| index + 1 < prior.len()).map(|index| index + 1);
        let is_ready = found.filter(|index| self.dependencies.count(id, *index) == 0);
        let task = &mut self.tasks[id.index()];
        task.scan_from = next;
        if let Some(index) = is_ready {
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
        let most = self.pipeline().task(block.task).options().retry.max_retries;
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

    #[inline]
    fn release_dependents(&mut self, block: BlockRef) {
        if self.dependencies.has_no_dependents(block.task) {
            return;
        }
        let Self { dependencies, tasks, touched } = self;
        let layout = dependencies.layout(block.task);
        let within = &dependencies.within[block.task.index()];
        if !within.is_free() {
            let task = &mut tasks[block.task.index()];
            let position = layout.grid().position(block.index);
            // The caller touches the block's own task.
            within.for_each_successor(&position, &mut |next| {
                task.release_one(dependencies, block.task, next);
            });
        }
        for downstream in dependencies.pipeline.downstream(block.task) {
            let below = dependencies.layout(*downstream);
            let dependents = readers(layout, below, block.index);
            let task = &mut tasks[downstream.index()];
            let mut has_changed = false;
            if dependents.volume() <= EAGER_DEPENDENTS {
                dependents.for_each_row(below.grid(), |first, length| {
                    for next in first..first + length {
                        has_changed |= task.release_one(dependencies, *downstream, next);
                    }
                });
            } else {
                task.deferred.push_back(dependents.positions());
                has_changed = true;
            }
            if has_changed && !std::mem::replace(&mut task.touched, true) {
                touched.push(*downstream);
            }
        }
    }

    fn release_one(&mut self, id: TaskId, index: u64) {
        if self.tasks[id.index()].release_one(&self.dependencies, id, index) {
            self.touch(id);
        }
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
    fn new(dependencies: &Dependencies, id: TaskId) -> Self {
        let (plan, prior) = (dependencies.pipeline.task(id), &dependencies.prior[id.index()]);
        let layout = plan.layout();
        let covered = dependencies.covered(id);
        let all_wait = dependencies.all_wait(id, &covered);
        let mut roots = Roots::new(layout.grid(), dependencies.within[id.index()].levels(), covered);
        let mut scan_from = None;
        if dependencies.is_partly_done(id) {
            roots.clear();
            scan_from = (!all_wait && !prior.is_full()).then_some(0);
        }
        let skipped = prior.count();
        let counters = Counters {
            total: layout.block_count(),
            ready: roots.left(),
            waiting: layout.block_count() - skipped - roots.left(),
            skipped,
            masked: dependencies.masked[id.index()],
            ..Counters::default()
        };
        Self {
            settled: prior.clone(),
            failed: IndexSet::new(layout.block_count()),
            orphaned: IndexSet::new(layout.block_count()),
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

    /// One of the blocks that this one waits for has ended well. Whether it was the last.
    #[inline]
    fn release_one(&mut self, dependencies: &Dependencies, id: TaskId, index: u64) -> bool {
        if dependencies.prior[id.index()].contains(index) || self.state.has_ended() {
            return false;
        }
        let slot = self.pending.slot(index);
        if *slot == 0 {
            *slot = 1 + dependencies.count(id, index);
        }
        debug_assert!(*slot > 1, "a block was released more often than it waits for");
        *slot -= 1;
        let is_last = *slot == 1;
        if is_last {
            self.make_ready(index);
        }
        is_last
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
