//! Giving blocks to workers.

use super::action::Action;
use super::checks::WINDOW;
use super::lease::Lease;
use super::worker::Phase;
use super::{Scheduler, TaskState};
use crate::ids::{BlockRef, TaskId, WorkerId};

impl Scheduler {
    /// Gives ready blocks to workers that hold nothing; tells those to end for whom nothing is left.
    pub(super) fn serve(&mut self, id: TaskId, actions: &mut Vec<Action>) {
        self.ask_ahead(id, actions);
        if self.fleet.task(id).is_too_large() {
            self.dismiss_surplus(id, actions);
        }
        for _ in 0..self.fleet.task(id).line.len() {
            let left = self.frontier.task(id).state.counters();
            if left.waiting + left.ready == 0 {
                // Where attempts fail, the last ones may want another worker than the one that is left.
                let may_be_retried = self.frontier.pipeline().task(id).options().retry.max_retries > 0;
                let spare = usize::from(left.failed_attempts > 0 && may_be_retried);
                self.dismiss_idle(id, spare, actions);
                return;
            }
            if self.frontier.task(id).grantable() == 0 && !self.frontier.is_behind(id) {
                return;
            }
            let Some(worker) = self.next_idle(id) else { return };
            if self.fill(worker, actions) == 0 {
                self.join_line(worker);
            }
        }
    }

    /// The first worker in line that can still take a block.
    fn next_idle(&mut self, id: TaskId) -> Option<WorkerId> {
        while let Some(candidate) = self.fleet.task_mut(id).line.pop_front() {
            let Some(worker) = self.workers.get_mut(&candidate) else { continue };
            worker.is_in_line = false;
            if worker.takes_blocks() && worker.leases.is_empty() {
                return Some(candidate);
            }
        }
        None
    }

    /// Puts a worker that holds nothing in line.
    pub(super) fn join_line(&mut self, id: WorkerId) {
        let Some(worker) = self.workers.get_mut(&id) else { return };
        if worker.takes_blocks() && worker.leases.is_empty() && !worker.is_in_line {
            worker.is_in_line = true;
            self.fleet.task_mut(worker.task).line.push_back(id);
        }
    }

    /// Gives a worker as many blocks as it may hold, once half of them are used up. How many it got.
    #[inline]
    pub(super) fn fill(&mut self, id: WorkerId, actions: &mut Vec<Action>) -> usize {
        let Some(worker) = self.workers.get(&id).filter(|worker| worker.takes_blocks()) else { return 0 };
        let (task, held) = (worker.task, worker.leases.len());
        let fleet = self.fleet.task(task);
        if fleet.is_too_large() && !worker.external {
            return 0; // it is one too many: it ends when it holds nothing more
        }
        let ready = self.frontier.task(task).grantable();
        let credit = fleet.pace.credit(worker.capacity, ready, fleet.available as usize);
        if held * 2 > credit {
            return 0;
        }
        let alone = fleet.available <= 1;
        for given in 0..credit - held {
            let Some(index) = self.take_block(task, id, alone) else { return given };
            self.grant(id, BlockRef { task, index }, actions);
        }
        credit - held
    }

    #[inline]
    fn grant(&mut self, id: WorkerId, block: BlockRef, actions: &mut Vec<Action>) {
        let attempt = self.frontier.task(block.task).retries.next_attempt(block.index);
        let Some(worker) = self.workers.get_mut(&id) else { return };
        worker.leases.push(Lease { block, attempt }, self.now);
        if self.frontier.pipeline().task(block.task).options().retry.timeout.is_some() {
            self.watch(id);
        }
        actions.push(Action::Grant { worker: id, block, attempt });
    }

    #[inline]
    fn take_block(&mut self, id: TaskId, worker: WorkerId, alone: bool) -> Option<u64> {
        let task = self.frontier.task_mut(id);
        if task.retries.len() > 0
            && let Some(index) = task.retries.take(worker, alone)
        {
            task.count_lease();
            return Some(index);
        }
        match &mut task.checks {
            None => self.frontier.take_fresh(id),
            Some(checks) => {
                let index = checks.take()?;
                task.count_lease();
                Some(index)
            }
        }
    }

    /// Has blocks checked before workers ask for them.
    fn ask_ahead(&mut self, id: TaskId, actions: &mut Vec<Action>) {
        let window = WINDOW.max(2 * self.fleet.task(id).max_workers as usize);
        while let Some(checks) = &self.frontier.task(id).checks {
            if checks.asked() + checks.cleared() >= window {
                return;
            }
            let Some(index) = self.frontier.take_fresh(id) else { return };
            let task = self.frontier.task_mut(id);
            task.count_unlease();
            if let Some(checks) = &mut task.checks {
                checks.ask(index);
            }
            actions.push(Action::Check { block: BlockRef { task: id, index } });
        }
    }

    /// Tells workers that hold nothing to end, but for the `spare` that were idle first.
    pub(super) fn dismiss_idle(&mut self, id: TaskId, spare: usize, actions: &mut Vec<Action>) {
        let mut kept = Vec::new();
        while let Some(worker) = self.next_idle(id) {
            if kept.len() < spare {
                kept.push(worker);
                continue;
            }
            self.set_phase(worker, Phase::Dismissed);
            actions.push(Action::Dismiss { worker });
        }
        kept.into_iter().for_each(|worker| self.join_line(worker));
    }

    /// Tells workers that hold nothing to end while there are more than there may be.
    fn dismiss_surplus(&mut self, id: TaskId, actions: &mut Vec<Action>) {
        for _ in 0..self.fleet.task(id).line.len() {
            let Some(worker) = self.next_idle(id) else { return };
            let is_ours = self.workers.get(&worker).is_some_and(|worker| !worker.external);
            if is_ours && self.fleet.task(id).is_too_large() {
                self.set_phase(worker, Phase::Dismissed);
                actions.push(Action::Dismiss { worker });
            } else {
                self.join_line(worker);
            }
        }
    }

    /// Ends the workers of a task that has ended; ends the run with the last task.
    pub(super) fn end_task(&mut self, id: TaskId, actions: &mut Vec<Action>) {
        if !self.frontier.task_mut(id).announce_end() {
            return;
        }
        self.fleet.stop_waiting(id);
        self.release_workers(id, actions);
        actions.push(Action::EndTask { task: id });
        self.running_tasks -= 1;
        if self.running_tasks == 0 {
            self.end_run(actions);
        }
    }

    fn release_workers(&mut self, id: TaskId, actions: &mut Vec<Action>) {
        let mut theirs: Vec<WorkerId> = self
            .workers
            .iter()
            .filter(|(_, worker)| worker.task == id && worker.phase.is_alive())
            .map(|(worker, _)| *worker)
            .collect();
        theirs.sort_unstable();
        let is_abandoned = matches!(self.frontier.task(id).state, TaskState::Abandoned { .. });
        for worker in theirs {
            let Some(found) = self.workers.get_mut(&worker) else { continue };
            // Its blocks, if any, are orphaned: nothing that it does counts any more.
            let is_busy = found.leases.take_rest().count() > 0;
            if found.phase == Phase::Launching || (is_busy && is_abandoned) {
                self.set_phase(worker, Phase::Gone);
                actions.push(Action::Kill { worker, reason: super::KillReason::Unneeded });
            } else {
                self.set_phase(worker, Phase::Dismissed);
                actions.push(Action::Dismiss { worker });
            }
        }
    }
}
