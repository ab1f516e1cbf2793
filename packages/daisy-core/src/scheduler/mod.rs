//! Decisions only: a pure state machine.
//!
//! `scheduler.handle(event, now, &mut actions)`. No clock, no socket, no file, no thread, no randomness:
//! serial mode, the TCP server, the tests and the simulator drive the same object.
//!
//! The parts: `frontier` knows the life of blocks and nothing of workers; `lease`, `worker` and `fleet` know
//! workers and nothing of geometry; the files named for what they do (`dispatch`, `staffing`, `reports`,
//! `lifecycle`, `deadlines`) bring the two together.

mod action;
mod checks;
mod counters;
mod deadlines;
mod dependencies;
mod dispatch;
mod event;
mod fleet;
mod frontier;
mod invariants;
mod lease;
mod lifecycle;
mod manual;
mod orphans;
mod pending;
mod prior;
mod report;
mod reports;
mod retries;
mod roots;
mod staffing;
mod worker;

use std::sync::Arc;
use std::time::Duration;

use rustc_hash::FxHashMap;

pub use action::{Action, BlockEnd, KillReason, Refusal};
pub use counters::{Counters, TaskState};
pub use event::{Event, Now, Outcome, WorkerExit};
pub use manual::{ManualScheduler, Released};
pub use prior::Prior;
pub use report::{ErrorGroup, RunOutcome, TaskOutcome};

use crate::error::{Error, ErrorKind, Result};
use crate::ids::{BlockRef, TaskId, WorkerId};
use crate::plan::{Pipeline, Resources};
use deadlines::Deadlines;
use fleet::Fleet;
use frontier::Frontier;
use report::ErrorLog;
use worker::Worker;

/// What holds for a whole run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What all workers together may use of the resources that tasks require.
    pub resources: Resources,
    /// How long a worker whose connection is lost may take to come back.
    pub reconnect_grace: Duration,
    /// How long a worker may take from being asked for to its connection.
    pub connect_timeout: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            resources: Resources::default(),
            reconnect_grace: Duration::from_secs(30),
            connect_timeout: Duration::from_secs(120),
        }
    }
}

/// A worker as others may see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerView {
    /// The worker.
    pub worker: WorkerId,
    /// The task whose blocks it processes.
    pub task: TaskId,
    /// Whether it was started by hand.
    pub external: bool,
    /// Whether it is connected now.
    pub connected: bool,
    /// The block it works on and since when.
    pub current: Option<(BlockRef, Now)>,
    /// How many blocks it holds.
    pub held: usize,
    /// How many blocks it completed.
    pub completed: u64,
}

/// The scheduler of one run.
#[derive(Debug)]
pub struct Scheduler {
    settings: Settings,
    frontier: Frontier,
    fleet: Fleet,
    workers: FxHashMap<WorkerId, Worker>,
    errors: Vec<ErrorLog>,
    deadlines: Deadlines,
    next_worker: u64,
    running_tasks: usize,
    cancelled: bool,
    has_ended: bool,
    now: Now,
}

impl Scheduler {
    /// A scheduler for this pipeline; `prior` has an entry per task, or is empty.
    ///
    /// # Errors
    /// `InvalidArgument` if a task requires more than the whole budget: it could never run.
    pub fn new(pipeline: Arc<Pipeline>, settings: Settings, prior: Vec<Prior>) -> Result<Self> {
        check_requirements(&pipeline, &settings.resources)?;
        Ok(Self {
            fleet: Fleet::new(&pipeline, settings.resources.clone()),
            errors: vec![ErrorLog::default(); pipeline.tasks().len()],
            running_tasks: pipeline.tasks().len(),
            frontier: Frontier::new(pipeline, prior),
            settings,
            workers: FxHashMap::default(),
            deadlines: Deadlines::default(),
            next_worker: 0,
            cancelled: false,
            has_ended: false,
            now: Now::ZERO,
        })
    }

    /// Begins: asks for the first workers, and ends tasks that have nothing to do.
    pub fn start(&mut self, now: Now, actions: &mut Vec<Action>) {
        self.now = now;
        if self.running_tasks == 0 {
            self.end_run(actions);
        }
        self.settle(actions);
    }

    /// Takes note of what happened and appends what is to be done. Never fails: what cannot be is refused.
    #[inline]
    pub fn handle(&mut self, event: Event, now: Now, actions: &mut Vec<Action>) {
        self.now = self.now.max(now);
        match event {
            Event::Reported { worker, block, attempt, outcome, duration } => {
                self.on_report(worker, block, attempt, outcome, duration, actions);
            }
            Event::WorkerConnected { worker, task, capacity, external } => {
                self.on_connected(worker, task, capacity, external, actions);
            }
            Event::WorkerReady { worker, capacity } => self.on_ready(worker, capacity),
            Event::Returned { worker, blocks } => self.on_returned(worker, &blocks),
            Event::WorkerDraining { worker } => self.on_draining(worker),
            Event::WorkerDisconnected { worker } => self.on_disconnected(worker),
            Event::WorkerExited { worker, exit } => self.on_exited(worker, &exit, actions),
            Event::WorkerDetached { worker, exit } => self.on_detached(worker, &exit, actions),
            Event::Checked { block, done } => self.on_checked(block, done, actions),
            Event::Ticked => self.on_tick(actions),
            Event::Cancelled => self.on_cancelled(actions),
            Event::MaxWorkersChanged { task, max_workers } => {
                if task.index() < self.fleet.tasks.len() {
                    self.fleet.task_mut(task).max_workers = max_workers;
                    self.frontier.touch(task);
                }
            }
        }
        self.settle(actions);
        // Large runs check from outside, now and then: each check looks at every task and worker.
        #[cfg(debug_assertions)]
        if self.frontier.tasks.len() * self.workers.len() < 500 {
            self.check_invariants();
        }
    }

    /// A worker id that was never used, for a worker that was started by hand.
    pub fn next_worker_id(&mut self) -> WorkerId {
        let id = WorkerId(self.next_worker);
        self.next_worker += 1;
        id
    }

    /// The pipeline that is run.
    #[must_use]
    pub fn pipeline(&self) -> &Arc<Pipeline> {
        self.frontier.pipeline()
    }

    /// State and counts of a task.
    #[must_use]
    pub fn task_state(&self, task: TaskId) -> &TaskState {
        &self.frontier.task(task).state
    }

    /// Whether every task has ended, or the run was cancelled.
    #[must_use]
    pub const fn is_finished(&self) -> bool {
        self.has_ended
    }

    /// The workers that are alive and what they hold.
    pub fn workers(&self) -> impl Iterator<Item = WorkerView> + '_ {
        self.workers.iter().filter(|(_, worker)| worker.phase.is_alive()).map(|(id, worker)| WorkerView {
            worker: *id,
            task: worker.task,
            external: worker.external,
            connected: worker.phase.is_connected(),
            current: worker.leases.iter().next().map(|lease| (lease.block, worker.leases.started)),
            held: worker.leases.len(),
            completed: worker.completed,
        })
    }

    /// The blocks that a worker holds, and which attempt of each.
    pub fn held_by(&self, worker: WorkerId) -> impl Iterator<Item = (BlockRef, u32)> + '_ {
        let leases = self.workers.get(&worker).map(|worker| worker.leases.iter());
        leases.into_iter().flatten().map(|lease| (lease.block, lease.attempt))
    }

    /// What became of the run so far.
    #[must_use]
    pub fn report(&self) -> RunOutcome {
        let tasks = self
            .frontier
            .tasks
            .iter()
            .zip(&self.errors)
            .zip(&self.fleet.tasks)
            .map(|((blocks, errors), fleet)| TaskOutcome {
                state: blocks.state.clone(),
                failed: blocks.failed.clone(),
                orphaned: blocks.orphaned.clone(),
                errors: errors.groups(),
                first_worker_error: fleet.first_error.clone(),
                last_worker_error: fleet.last_error.clone(),
            })
            .collect();
        RunOutcome { tasks, cancelled: self.cancelled }
    }

    /// Serves, staffs and ends every task that changed.
    fn settle(&mut self, actions: &mut Vec<Action>) {
        if self.cancelled {
            return;
        }
        while let Some(task) = self.frontier.take_touched() {
            if self.frontier.is_behind(task) && self.frontier.catch_up(task) {
                self.deadlines.note_behind(task);
            }
            if self.frontier.end_if_settled(task) || self.frontier.task(task).state.has_ended() {
                self.end_task(task, actions);
                continue;
            }
            self.serve(task, actions);
            self.staff(task, actions);
        }
        if self.fleet.is_anyone_waiting() {
            self.free_idle_resources(actions);
        }
    }

    fn end_run(&mut self, actions: &mut Vec<Action>) {
        if !std::mem::replace(&mut self.has_ended, true) {
            actions.push(Action::EndRun);
        }
    }
}

fn check_requirements(pipeline: &Pipeline, budget: &Resources) -> Result<()> {
    for task in pipeline.tasks() {
        for (name, amount) in task.options().requires.iter() {
            if amount > budget.amount(name) {
                return Err(Error::new(
                    ErrorKind::InvalidArgument,
                    "a task requires more than the budget of the run has",
                )
                .with_context("task", task.name())
                .with_context("requires", format!("{{{name}: {amount}}}"))
                .with_context("got", format!("resources={{{name}: {}}}", budget.amount(name)))
                .with_context(
                    "expected",
                    format!("resources={{{name}: {amount}}} or more in run_blockwise"),
                ));
            }
        }
    }
    Ok(())
}
