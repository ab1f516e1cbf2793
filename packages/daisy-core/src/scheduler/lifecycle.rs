//! Workers come, go, and die.

use std::sync::Arc;

use super::action::{Action, KillReason};
use super::event::WorkerExit;
use super::worker::{Phase, Worker};
use super::{Scheduler, TaskState};
use crate::ids::{TaskId, WorkerId};

impl Scheduler {
    pub(super) fn on_connected(
        &mut self,
        id: WorkerId,
        task: TaskId,
        capacity: u32,
        external: bool,
        actions: &mut Vec<Action>,
    ) {
        let is_welcome = task.index() < self.frontier.tasks.len()
            && !self.cancelled
            && match self.workers.get(&id) {
                Some(worker) => worker.task == task && worker.phase.is_alive(),
                None => external && id.0 < self.next_worker,
            };
        if !is_welcome {
            actions.push(Action::Dismiss { worker: id });
            return;
        }
        let worker = self.workers.entry(id).or_insert_with(|| {
            self.fleet.task_mut(task).count_phase(None, Phase::Launching, true);
            Worker { external: true, detached: true, ..Worker::launching(task, self.now) }
        });
        worker.capacity = capacity;
        let is_new = worker.phase == Phase::Launching;
        self.set_phase(id, if capacity == 0 { Phase::Registered } else { Phase::Connected });
        self.fleet.task_mut(task).never_connected_in_row = 0;
        match self.frontier.task_mut(task).state.running() {
            Some(counters) => counters.workers_connected += u64::from(is_new),
            None => {
                self.set_phase(id, Phase::Dismissed);
                actions.push(Action::Dismiss { worker: id });
            }
        }
        self.join_line(id);
        self.frontier.touch(task);
    }

    pub(super) fn on_ready(&mut self, id: WorkerId, capacity: u32) {
        let Some(worker) = self.workers.get_mut(&id) else { return };
        if !matches!(worker.phase, Phase::Registered | Phase::Connected) {
            return;
        }
        worker.capacity = capacity.max(1);
        self.set_phase(id, Phase::Connected);
        self.join_line(id);
        self.touch_task_of(id);
    }

    pub(super) fn on_draining(&mut self, id: WorkerId) {
        if self.workers.get(&id).is_some_and(|worker| worker.phase.is_connected()) {
            self.set_phase(id, Phase::Draining);
            self.touch_task_of(id);
        }
    }

    pub(super) fn on_disconnected(&mut self, id: WorkerId) {
        let Some(worker) = self.workers.get(&id) else { return };
        let (phase, external, is_idle) = (worker.phase, worker.external, worker.leases.is_empty());
        let detached = worker.detached;
        match phase {
            // One that was started by hand and holds nothing has just left.
            phase if external && is_idle && (phase.is_connected() || phase == Phase::Dismissed) => {
                self.forget(id);
            }
            // So has one that said so, or was told to, if the end of its process will not be told.
            Phase::Draining | Phase::Dismissed if detached && is_idle => self.forget(id),
            Phase::Draining if is_idle => {
                // It left in order: it may be replaced at once, and nothing is counted against its task.
                self.set_phase(id, Phase::Left { since: self.now });
                self.watch(id);
                self.touch_task_of(id);
            }
            Phase::Registered | Phase::Connected | Phase::Draining => {
                self.set_phase(id, Phase::Disconnected { since: self.now });
                self.watch(id);
                self.touch_task_of(id);
            }
            Phase::Launching
            | Phase::Dismissed
            | Phase::Disconnected { .. }
            | Phase::Left { .. }
            | Phase::Gone => {}
        }
    }

    pub(super) fn on_exited(&mut self, id: WorkerId, exit: &WorkerExit, actions: &mut Vec<Action>) {
        let Some(worker) = self.workers.get(&id) else { return };
        match worker.phase {
            Phase::Launching if exit.outside => {}
            Phase::Launching => self.note_never_connected(id, &describe(exit)),
            Phase::Registered | Phase::Connected | Phase::Draining | Phase::Disconnected { .. } => {
                let left_in_order = exit.clean
                    && worker.leases.is_empty()
                    && (worker.completed > 0 || worker.phase == Phase::Draining);
                self.take_leases(id, &describe(exit), actions);
                if !left_in_order {
                    self.note_death(id, &describe(exit));
                }
            }
            // It came and went, and then failed: replacing it for ever would not help.
            Phase::Left { .. } if !exit.clean => self.note_death(id, &describe(exit)),
            Phase::Left { .. } | Phase::Dismissed | Phase::Gone => {}
        }
        self.forget(id);
    }

    /// What started a worker is done. If the worker did not come yet, its time to do so begins now.
    pub(super) fn on_detached(&mut self, id: WorkerId, exit: &WorkerExit, actions: &mut Vec<Action>) {
        let now = self.now;
        let Some(worker) = self.workers.get_mut(&id) else { return };
        match worker.phase {
            Phase::Launching => {
                worker.detached = true;
                worker.launched_at = now;
                self.watch(id);
            }
            Phase::Registered | Phase::Connected | Phase::Draining => worker.detached = true,
            // It stayed until its worker had ended.
            Phase::Disconnected { .. } | Phase::Left { .. } | Phase::Dismissed | Phase::Gone => {
                self.on_exited(id, exit, actions);
            }
        }
    }

    /// Counts a worker that died, unless its task has ended.
    fn note_death(&mut self, id: WorkerId, cause: &Arc<str>) {
        let Some(worker) = self.workers.get(&id) else { return };
        let (task, external, now) = (worker.task, worker.external, self.now);
        if let Some(counters) = self.frontier.task_mut(task).state.running() {
            counters.worker_deaths += 1;
            // The budget is for workers that we replace.
            if external {
                self.fleet.task_mut(task).note_error(cause);
            } else {
                self.fleet.task_mut(task).note_death(cause, now);
            }
        }
    }

    fn note_never_connected(&mut self, id: WorkerId, cause: &Arc<str>) {
        let Some(task) = self.workers.get(&id).map(|worker| worker.task) else { return };
        if let Some(counters) = self.frontier.task_mut(task).state.running() {
            counters.workers_never_connected += 1;
            let fleet = self.fleet.task_mut(task);
            fleet.never_connected_in_row += 1;
            fleet.note_error(cause);
        }
    }

    /// Takes everything from a worker that cannot go on: the block it worked on has lost an attempt, the
    /// others have lost nothing.
    fn take_leases(&mut self, id: WorkerId, cause: &Arc<str>, actions: &mut Vec<Action>) {
        let Some(worker) = self.workers.get_mut(&id) else { return };
        let first = worker.leases.take_first();
        let rest: Vec<_> = worker.leases.take_rest().collect();
        for lease in rest {
            self.frontier.put_back(lease.block);
        }
        if let Some(lease) = first {
            self.fail_attempt(id, lease.block, lease.attempt, cause, actions);
        }
    }

    /// Ends a worker that is late, for this reason.
    pub(super) fn reclaim(&mut self, id: WorkerId, reason: KillReason, actions: &mut Vec<Action>) {
        let Some(worker) = self.workers.get(&id) else { return };
        let (task, has_left) = (worker.task, matches!(worker.phase, Phase::Left { .. }));
        actions.push(Action::Kill { worker: id, reason });
        let retry = self.frontier.pipeline().task(task).options().retry;
        match reason {
            KillReason::NeverConnected => {
                let limit = self.settings.connect_timeout.as_secs_f64();
                self.note_never_connected(id, &format!("worker did not connect within {limit} s").into());
            }
            KillReason::Timeout => {
                if let Some(counters) = self.frontier.task_mut(task).state.running() {
                    counters.timeouts += 1;
                }
                let limit = retry.timeout.unwrap_or_default().as_secs_f64();
                let cause = format!("TimeoutError: the block took longer than timeout={limit} s");
                self.take_leases(id, &cause.into(), actions);
            }
            // Its process should have ended long ago; there is nothing else to be done about it.
            _ if has_left => {}
            KillReason::ConnectionLost | KillReason::Cancelled | KillReason::Unneeded => {
                let limit = self.settings.reconnect_grace.as_secs_f64();
                let cause: Arc<str> =
                    format!("ConnectionError: worker {} was gone for more than {limit} s", id.0).into();
                self.take_leases(id, &cause, actions);
                self.note_death(id, &cause);
            }
        }
        self.set_phase(id, Phase::Gone);
        if self.workers.get(&id).is_some_and(|worker| worker.detached) {
            self.forget(id);
        }
        self.frontier.touch(task);
    }

    /// Forgets a worker whose process has ended and which holds nothing.
    fn forget(&mut self, id: WorkerId) {
        self.touch_task_of(id);
        self.set_phase(id, Phase::Gone);
        if let Some(worker) = self.workers.remove(&id) {
            self.free_resources(&worker);
        }
    }

    pub(super) fn on_cancelled(&mut self, actions: &mut Vec<Action>) {
        if self.cancelled || self.has_ended {
            return;
        }
        self.cancelled = true;
        let mut ids: Vec<WorkerId> = self.workers.keys().copied().collect();
        ids.sort_unstable();
        for id in ids {
            let Some(worker) = self.workers.get_mut(&id) else { continue };
            let is_gone = worker.phase == Phase::Gone;
            let task = worker.task;
            let leases: Vec<_> = worker.leases.take_rest().collect();
            if let TaskState::Running(_) = self.frontier.task(task).state {
                for lease in leases {
                    self.frontier.put_back(lease.block);
                }
            }
            if !is_gone {
                self.set_phase(id, Phase::Gone);
                actions.push(Action::Kill { worker: id, reason: KillReason::Cancelled });
            }
        }
        self.end_run(actions);
    }

    fn touch_task_of(&mut self, id: WorkerId) {
        if let Some(worker) = self.workers.get(&id) {
            self.frontier.touch(worker.task);
        }
    }
}

/// How a worker ended, with the last of what it said.
fn describe(exit: &WorkerExit) -> Arc<str> {
    if exit.log_tail.is_empty() {
        return format!("WorkerDied: {}", exit.cause).into();
    }
    format!("{}\nWorkerDied: {}", exit.log_tail.trim_end(), exit.cause).into()
}
