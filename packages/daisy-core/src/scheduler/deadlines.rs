//! What is to be looked at when nothing happens.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use super::Scheduler;
use super::action::Action;
use super::event::Now;
use crate::ids::{TaskId, WorkerId};

/// Times at which something must be looked at. Entries are checked when they come up, so that an entry that
/// is out of date costs nothing but a look.
#[derive(Debug, Default)]
pub(super) struct Deadlines {
    workers: BinaryHeap<Reverse<(Now, WorkerId)>>,
    pauses: BTreeSet<(Now, TaskId)>,
    behind: BTreeSet<TaskId>,
}

impl Deadlines {
    /// A task may have no worker before this.
    pub(super) fn note_pause(&mut self, until: Now, task: TaskId) {
        self.pauses.insert((until, task));
    }

    /// A task has work that was put off.
    pub(super) fn note_behind(&mut self, task: TaskId) {
        self.behind.insert(task);
    }
}

impl Scheduler {
    /// When to send `Ticked` at the latest; a time that has passed means at once.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Now> {
        if self.has_ended {
            return None;
        }
        if !self.deadlines.behind.is_empty() {
            return Some(self.now);
        }
        let worker = self.deadlines.workers.peek().map(|Reverse((when, _))| *when);
        let pause = self.deadlines.pauses.first().map(|(when, _)| *when);
        match (worker, pause) {
            (Some(worker), Some(pause)) => Some(worker.min(pause)),
            (one, other) => one.or(other),
        }
    }

    /// Sees to it that a worker's deadline is not missed.
    #[inline]
    pub(super) fn watch(&mut self, id: WorkerId) {
        let Some(worker) = self.workers.get_mut(&id) else { return };
        let timeout = self.frontier.pipeline().task(worker.task).options().retry.timeout;
        let Some((when, _)) = worker.deadline(&self.settings, timeout) else { return };
        if worker.watched_at.is_none_or(|watched| when < watched) {
            worker.watched_at = Some(when);
            self.deadlines.workers.push(Reverse((when, id)));
        }
    }

    pub(super) fn on_tick(&mut self, actions: &mut Vec<Action>) {
        if self.cancelled {
            return;
        }
        for task in std::mem::take(&mut self.deadlines.behind) {
            self.frontier.touch(task);
        }
        while let Some((_, task)) =
            self.deadlines.pauses.first().copied().filter(|(when, _)| *when <= self.now)
        {
            self.deadlines.pauses.pop_first();
            self.frontier.touch(task);
        }
        while let Some(Reverse((when, id))) = self.deadlines.workers.peek().copied() {
            if when > self.now {
                return;
            }
            self.deadlines.workers.pop();
            let Some(worker) = self.workers.get_mut(&id) else { continue };
            worker.watched_at = None;
            let timeout = self.frontier.pipeline().task(worker.task).options().retry.timeout;
            match worker.deadline(&self.settings, timeout) {
                Some((due, reason)) if due <= self.now => self.reclaim(id, reason, actions),
                Some(_) => self.watch(id),
                None => {}
            }
        }
    }
}
