//! The driver without sockets: one thread, one block at a time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::{Duration, Instant};

use super::config::RunConfig;
use super::entry::RunEnd;
use super::marking::Marking;
use super::record::Record;
use super::requests::Note;
use crate::error::{Error, Result};
use crate::ids::{BlockRef, WorkerId};
use crate::measurement::Measurement;
use crate::scheduler::{Action, Event, Now, Outcome, Scheduler, TaskState, WorkerExit};

/// What became of a block that [`SerialWork::process`] was given.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// It ran.
    Ran {
        /// How it went.
        outcome: Outcome,
        /// What it used.
        measurement: Option<Measurement>,
    },
    /// The run is to stop: Ctrl-C, or an error that is not the block's.
    Abort,
}

impl Step {
    /// A block that succeeded and was not measured.
    pub const SUCCEEDED: Self = Self::Ran { outcome: Outcome::Succeeded, measurement: None };
}

/// What the serial driver calls back. A closure `FnMut(BlockRef, u32) -> Step` is one.
pub trait SerialWork {
    /// Runs a block; `attempt` counts from 1.
    fn process(&mut self, block: BlockRef, attempt: u32) -> Step;

    /// Asks `check_function` whether a block is done; `None` stops the run.
    fn check(&mut self, _block: BlockRef) -> Option<bool> {
        Some(false)
    }

    /// Something to log.
    fn note(&mut self, _note: Note) {}

    /// State and counts per task, about every `observe_every`.
    fn observe(&mut self, _states: &[TaskState]) {}
}

impl<F: FnMut(BlockRef, u32) -> Step> SerialWork for F {
    fn process(&mut self, block: BlockRef, attempt: u32) -> Step {
        self(block, attempt)
    }
}

/// A run in the caller's thread. Of the blocks at hand, the one furthest downstream is next.
///
/// ```
/// use std::sync::Arc;
/// use daisy_core::geometry::Roi;
/// use daisy_core::plan::{Fit, Pipeline, TaskOptions, TaskPlan};
/// use daisy_core::run::{RunConfig, SerialRun, Step};
///
/// let (total, block) = (Roi::new(&[0], &[100]).unwrap(), Roi::new(&[0], &[10]).unwrap());
/// let task = TaskPlan::new("sum", total, block, block, Fit::Valid, TaskOptions::default()).unwrap();
/// let run = SerialRun::new(RunConfig::new(Arc::new(Pipeline::new(vec![task], &[]).unwrap()))).unwrap();
/// let mut count = 0;
/// let end = run.run(&mut |_block, _attempt| {
///     count += 1;
///     Step::SUCCEEDED
/// });
/// assert!(end.outcome.has_succeeded() && count == 10);
/// ```
pub struct SerialRun {
    scheduler: Scheduler,
    marking: Marking,
    began: Instant,
    observe_every: Duration,
    observed_at: Now,
    /// Position of each task in the order of flow.
    places: Vec<u32>,
    granted: u64,
    grants: BinaryHeap<(u32, Reverse<u64>, Held)>,
    killed: Vec<WorkerId>,
    events: VecDeque<Event>,
    actions: Vec<Action>,
    record: Record,
    error: Option<Error>,
}

/// A granted block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Held {
    block: BlockRef,
    attempt: u32,
    worker: WorkerId,
}

impl SerialRun {
    /// A run with this configuration, of which `listen` and `stall_after` are not used.
    ///
    /// # Errors
    /// `InvalidArgument` if a task requires more than the whole budget.
    pub fn new(config: RunConfig) -> Result<Self> {
        let mut places = vec![0; config.pipeline.tasks().len()];
        for (place, task) in config.pipeline.order().iter().enumerate() {
            places[task.index()] = place as u32;
        }
        let record = Record::new(&config.pipeline, &config.prior);
        Ok(Self {
            scheduler: Scheduler::new(config.pipeline, config.settings, config.prior)?,
            marking: Marking::new(config.marks),
            began: Instant::now(),
            observe_every: config.observe_every,
            observed_at: Now::ZERO,
            places,
            granted: 0,
            grants: BinaryHeap::new(),
            killed: Vec::new(),
            events: VecDeque::new(),
            actions: Vec::new(),
            record,
            error: None,
        })
    }

    /// Runs to the end, in this thread.
    pub fn run(mut self, work: &mut impl SerialWork) -> RunEnd {
        self.began = Instant::now();
        self.scheduler.start(Now::ZERO, &mut self.actions);
        self.carry_out(work);
        while !self.scheduler.is_finished() {
            let Some((_, _, held)) = self.grants.pop() else {
                if self.wait_for_deadline(work) {
                    continue;
                }
                break;
            };
            if self.killed.is_empty() || !self.killed.contains(&held.worker) {
                self.process(held, work);
            }
        }
        if let Err(error) = self.marking.close() {
            self.error.get_or_insert(error);
        }
        let outcome = self.scheduler.report();
        RunEnd { stats: self.record.finish(self.scheduler.pipeline(), &outcome), outcome, error: self.error }
    }

    #[inline]
    fn process(&mut self, held: Held, work: &mut impl SerialWork) {
        let started = Instant::now();
        let step = work.process(held.block, held.attempt);
        let ended = Instant::now();
        let (duration, now) = (ended - started, ended - self.began);
        let Step::Ran { outcome, measurement } = step else {
            self.handle(Event::Cancelled, now, work);
            return;
        };
        let Held { block, attempt, worker } = held;
        if let Some(measurement) = &measurement {
            self.marking.measured(block, measurement);
        }
        let has_succeeded = outcome == Outcome::Succeeded;
        self.record.returned((worker, block), has_succeeded, duration, measurement.as_ref(), now);
        self.handle(Event::Reported { worker, block, attempt, outcome, duration }, now, work);
        self.observe(now, work);
    }

    #[inline]
    fn handle(&mut self, event: Event, now: Now, work: &mut impl SerialWork) {
        self.scheduler.handle(event, now, &mut self.actions);
        self.carry_out(work);
        if let Err(error) = self.marking.flush_if_due(now) {
            self.error.get_or_insert(error);
            self.events.push_back(Event::Cancelled);
            self.carry_out(work);
        }
    }

    /// Does what was asked, and what follows from it, until nothing is asked.
    #[inline]
    fn carry_out(&mut self, work: &mut impl SerialWork) {
        loop {
            let mut actions = std::mem::take(&mut self.actions);
            for action in actions.drain(..) {
                self.carry_out_one(action, work);
            }
            self.actions = actions;
            let Some(event) = self.events.pop_front() else { return };
            self.scheduler.handle(event, self.began.elapsed(), &mut self.actions);
        }
    }

    #[inline]
    fn carry_out_one(&mut self, action: Action, work: &mut impl SerialWork) {
        match action {
            Action::Grant { worker, block, attempt } => {
                self.granted += 1;
                let held = Held { block, attempt, worker };
                self.grants.push((self.places[block.task.index()], Reverse(self.granted), held));
            }
            Action::Settle { block, end } => {
                self.marking.settled(block, end);
                self.record.settled(block, end);
            }
            Action::Launch { worker, task } => {
                self.record.appeared(worker, task, true, self.began.elapsed());
                self.events.push_back(Event::WorkerConnected { worker, task, capacity: 1, external: false });
            }
            Action::Dismiss { worker } => self.exit(worker, "dismissed"),
            Action::Kill { worker, .. } => {
                self.killed.push(worker);
                self.exit(worker, "ended");
            }
            Action::Check { block } => self.events.push_back(match work.check(block) {
                Some(done) => Event::Checked { block, done },
                None => Event::Cancelled,
            }),
            Action::NoteFailure { block, attempt, worker, error } => {
                self.marking.failed_attempt(block);
                work.note(Note::BlockFailed { block, attempt, worker, error });
            }
            Action::Refuse { worker, block, reason } => {
                work.note(Note::ReportRefused { worker, block, reason });
            }
            Action::EndTask { .. } | Action::EndRun => {}
        }
    }

    fn exit(&mut self, worker: WorkerId, cause: &str) {
        let exit = WorkerExit { clean: true, outside: false, cause: cause.into(), log_tail: "".into() };
        self.events.push_back(Event::WorkerExited { worker, exit });
    }

    /// Sleeps until the scheduler wants to look at its deadlines; `false` if it waits for nothing.
    fn wait_for_deadline(&mut self, work: &mut impl SerialWork) -> bool {
        let Some(deadline) = self.scheduler.next_deadline() else { return false };
        std::thread::sleep(deadline.saturating_sub(self.began.elapsed()));
        self.handle(Event::Ticked, self.began.elapsed().max(deadline), work);
        true
    }

    #[inline]
    fn observe(&mut self, now: Now, work: &mut impl SerialWork) {
        if now >= self.observed_at + self.observe_every {
            self.observed_at = now;
            let tasks = self.scheduler.pipeline().task_ids();
            let states: Vec<TaskState> = tasks.map(|task| self.scheduler.task_state(task).clone()).collect();
            work.observe(&states);
        }
    }
}
