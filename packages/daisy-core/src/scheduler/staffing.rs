//! Asking for workers: never more than there are blocks, within the budget, fair over tasks.

use super::action::Action;
use super::worker::{Phase, Worker};
use super::{Scheduler, TaskState};
use crate::ids::{TaskId, WorkerId};

impl Scheduler {
    /// Asks for the workers that a task could use; gives the task up if it can have none any more.
    pub(super) fn staff(&mut self, id: TaskId, actions: &mut Vec<Action>) {
        self.fleet.stop_waiting(id);
        while self.wants_worker(id) {
            let most = self.frontier.pipeline().task(id).options().retry.max_worker_restarts;
            let fleet = self.fleet.task(id);
            if fleet.is_stopped(most) {
                if fleet.counted_on() == 0 {
                    self.abandon(id, actions);
                }
                return;
            }
            if self.now < fleet.pause_until {
                self.deadlines.note_pause(fleet.pause_until, id);
                return;
            }
            if !self.launch(id, actions) {
                return;
            }
            if !self.frontier.pipeline().task(id).options().requires.is_empty() && self.wants_worker(id) {
                // The others have a turn before this task takes one more of what all share.
                self.frontier.touch_last(id);
                return;
            }
        }
    }

    fn wants_worker(&self, id: TaskId) -> bool {
        let (blocks, fleet) = (self.frontier.task(id), self.fleet.task(id));
        let TaskState::Running(counters) = &blocks.state else { return false };
        let counted_on = fleet.counted_on();
        u64::from(counted_on) < blocks.grantable() + counters.leased
            && fleet.launched < fleet.max_workers
            && (blocks.grantable() > 0 || counted_on == 0)
    }

    fn launch(&mut self, id: TaskId, actions: &mut Vec<Action>) -> bool {
        if !self.fleet.reserve(id, &self.frontier.pipeline().task(id).options().requires) {
            return false;
        }
        let worker = self.next_worker_id();
        self.workers.insert(worker, Worker::launching(id, self.now));
        self.fleet.task_mut(id).count_phase(None, Phase::Launching, false);
        if let Some(counters) = self.frontier.task_mut(id).state.running() {
            counters.workers_launched += 1;
        }
        self.watch(worker);
        actions.push(Action::Launch { worker, task: id });
        true
    }

    fn abandon(&mut self, id: TaskId, actions: &mut Vec<Action>) {
        let fleet = self.fleet.task(id);
        let last = fleet.last_error.as_deref().unwrap_or("no cause known");
        let reason = if fleet.never_connected_in_row >= super::fleet::MOST_NEVER_CONNECTED {
            format!("{} workers in a row never connected; the last one: {last}", fleet.never_connected_in_row)
        } else {
            format!(
                "{} workers in a row died with no block completed between (max_worker_restarts={}); the last one: {last}",
                fleet.deaths_in_row,
                self.frontier.pipeline().task(id).options().retry.max_worker_restarts,
            )
        };
        self.give_up(id, &reason, actions);
    }

    /// Gives a task up for this reason.
    pub(super) fn give_up(&mut self, id: TaskId, reason: &str, actions: &mut Vec<Action>) {
        self.frontier.abandon(id, reason);
        self.end_task(id, actions);
    }

    /// While a task waits for the budget, no idle worker of another may sit on it.
    pub(super) fn free_idle_resources(&mut self, actions: &mut Vec<Action>) {
        let pipeline = std::sync::Arc::clone(self.frontier.pipeline());
        for id in pipeline.task_ids() {
            let holds = !pipeline.task(id).options().requires.is_empty();
            if holds && !self.fleet.task(id).line.is_empty() && self.frontier.task(id).grantable() == 0 {
                self.dismiss_idle(id, 0, actions);
            }
        }
    }

    /// Gives back what a worker whose process has ended used, to whoever waits for it.
    pub(super) fn free_resources(&mut self, worker: &Worker) {
        if worker.external {
            return;
        }
        self.fleet.release(&self.frontier.pipeline().task(worker.task).options().requires);
        for waiting in self.fleet.waiting().into_iter().rev() {
            self.frontier.touch(waiting);
        }
    }

    /// Puts a worker into another phase, keeping the counts right.
    pub(super) fn set_phase(&mut self, id: WorkerId, phase: Phase) {
        if let Some(worker) = self.workers.get_mut(&id) {
            self.fleet.task_mut(worker.task).count_phase(Some(worker.phase), phase, worker.external);
            worker.phase = phase;
        }
    }
}
