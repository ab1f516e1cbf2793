//! What workers report of blocks.

use std::sync::Arc;
use std::time::Duration;

use super::action::{Action, BlockEnd, Refusal};
use super::event::Outcome;
use super::worker::Phase;
use super::{Scheduler, TaskState};
use crate::ids::{BlockRef, WorkerId};

impl Scheduler {
    #[inline]
    pub(super) fn on_report(
        &mut self,
        id: WorkerId,
        block: BlockRef,
        attempt: u32,
        outcome: Outcome,
        duration: Duration,
        actions: &mut Vec<Action>,
    ) {
        let accepted = match self.workers.get_mut(&id).filter(|worker| worker.phase != Phase::Gone) {
            None => Err(Refusal::UnknownWorker),
            Some(worker) => match worker.leases.find(block) {
                None => Err(Refusal::NotHeld),
                Some(lease) if lease.attempt != attempt => Err(Refusal::OldAttempt),
                Some(_) => {
                    worker.leases.take(block, self.now);
                    worker.completed += u64::from(outcome == Outcome::Succeeded);
                    Ok(())
                }
            },
        };
        if let Err(reason) = accepted {
            self.refuse(id, block, reason, actions);
            return;
        }
        self.fleet.task_mut(block.task).pace.note(duration);
        if let Some(counters) = self.frontier.task_mut(block.task).state.running() {
            counters.returns += 1;
        }
        match outcome {
            Outcome::Succeeded => {
                self.fleet.task_mut(block.task).deaths_in_row = 0;
                self.frontier.complete(block, false);
                actions.push(Action::Settle { block, end: BlockEnd::Completed });
            }
            Outcome::Failed { error } => self.fail_attempt(id, block, attempt, &error, actions),
        }
        self.fill(id, actions);
        self.join_line(id);
    }

    fn refuse(&mut self, worker: WorkerId, block: BlockRef, reason: Refusal, actions: &mut Vec<Action>) {
        if let Some(task) = self.frontier.tasks.get_mut(block.task.index())
            && let Some(counters) = task.state.running()
        {
            counters.refused_reports += 1;
        }
        actions.push(Action::Refuse { worker, block, reason });
    }

    /// An attempt failed, whatever the reason; the lease is gone already.
    pub(super) fn fail_attempt(
        &mut self,
        worker: WorkerId,
        block: BlockRef,
        attempt: u32,
        error: &Arc<str>,
        actions: &mut Vec<Action>,
    ) {
        if self.frontier.task(block.task).state.has_ended() {
            return;
        }
        self.errors[block.task.index()].note(block, error);
        actions.push(Action::NoteFailure { block, attempt, worker, error: Arc::clone(error) });
        if self.frontier.fail_attempt(block, worker) {
            actions.push(Action::Settle { block, end: BlockEnd::Failed });
            self.give_up_if_nothing_works(block, actions);
        }
    }

    fn give_up_if_nothing_works(&mut self, block: BlockRef, actions: &mut Vec<Action>) {
        let limit = self.frontier.pipeline().task(block.task).options().retry.give_up_after;
        let TaskState::Running(counters) = &self.frontier.task(block.task).state else { return };
        let Some(limit) = limit.filter(|limit| counters.completed == 0 && counters.failed >= *limit) else {
            return;
        };
        if counters.remaining() == 0 {
            return; // nothing is left to give up
        }
        let reason = format!(
            "the first {limit} blocks that ended all failed (give_up_after={limit}): nothing works, so the rest was not tried"
        );
        self.give_up(block.task, &reason, actions);
    }

    pub(super) fn on_returned(&mut self, id: WorkerId, blocks: &[BlockRef]) {
        for block in blocks.iter().rev() {
            let Some(worker) = self.workers.get_mut(&id) else { return };
            if worker.leases.find(*block).is_some() {
                worker.leases.take(*block, self.now);
                self.frontier.put_back(*block);
            }
        }
        self.join_line(id);
    }

    pub(super) fn on_checked(&mut self, block: BlockRef, done: bool, actions: &mut Vec<Action>) {
        let Some(task) = self.frontier.tasks.get_mut(block.task.index()) else { return };
        let Some(checks) = &mut task.checks else { return };
        if !checks.answer(block.index) {
            return;
        }
        if !done {
            checks.push(block.index);
            self.frontier.touch(block.task);
            return;
        }
        task.count_lease();
        self.frontier.complete(block, true);
        actions.push(Action::Settle { block, end: BlockEnd::Skipped });
    }
}
