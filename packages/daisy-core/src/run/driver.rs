//! Feeds the scheduler with what happened, and does what it asks.

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::Notify;

use super::board::Board;
use super::entry::RunEnd;
use super::leaving::Exits;
use super::marking::Marking;
use super::record::Record;
use super::requests::{Note, Request, RequestQueue, Told};
use super::sessions::Sessions;
use crate::error::Error;
use crate::ids::{BlockRef, WorkerId};
use crate::scheduler::{Action, Event, Now, Outcome, Scheduler};
use crate::wire::{Grant, Report, ServerMessage};

/// The scheduler and everything its actions act on. Lives on the server's thread; nothing here waits.
pub(super) struct Driver {
    pub(super) scheduler: Scheduler,
    pub(super) sessions: Sessions,
    pub(super) board: Arc<Board>,
    pub(super) requests: Arc<RequestQueue>,
    /// Woken when the scheduler has an earlier deadline than the timer knows of.
    pub(super) rearmed: Rc<Notify>,
    /// Woken when the run has ended.
    pub(super) ended: Rc<Notify>,
    /// When a block last came to its end.
    pub(super) settled_at: Now,
    marking: Marking,
    pub(super) record: Record,
    /// Workers that ended and whose last words may not have been read.
    pub(super) exits: Exits,
    began: Instant,
    armed: Option<Now>,
    actions: Vec<Action>,
    events: VecDeque<Event>,
    error: Option<Error>,
    /// Connections that were ever registered.
    pub(super) connections: u64,
}

impl Driver {
    pub(super) fn new(
        scheduler: Scheduler,
        marking: Marking,
        record: Record,
        board: Arc<Board>,
        requests: Arc<RequestQueue>,
    ) -> Self {
        Self {
            sessions: Sessions::default(),
            board,
            requests,
            rearmed: Rc::default(),
            ended: Rc::default(),
            settled_at: Now::ZERO,
            record,
            scheduler,
            marking,
            began: Instant::now(),
            exits: Exits::default(),
            armed: None,
            actions: Vec::new(),
            events: VecDeque::new(),
            error: None,
            connections: 0,
        }
    }

    /// Time since the run began.
    pub(super) fn now(&self) -> Now {
        self.began.elapsed()
    }

    /// Begins.
    pub(super) fn start(&mut self) {
        self.scheduler.start(self.now(), &mut self.actions);
        self.carry_out();
    }

    /// Takes note of something that happened.
    pub(super) fn feed(&mut self, event: Event) {
        self.scheduler.handle(event, self.now(), &mut self.actions);
        self.carry_out();
    }

    /// Takes note of what the Python side tells.
    pub(super) fn take_told(&mut self, told: Told) {
        let event = match told {
            Told::WorkerExited { worker, exit } => return self.take_exit(worker, exit),
            Told::WorkerDetached { worker, exit } => return self.take_detached(worker, exit),
            Told::Checked { block, done } => Event::Checked { block, done },
            Told::Cancel => Event::Cancelled,
            Told::MaxWorkers { task, max_workers } => Event::MaxWorkersChanged { task, max_workers },
        };
        self.feed(event);
    }

    /// Takes note of the reports of one frame.
    pub(super) fn take_reports(&mut self, worker: WorkerId, reports: Vec<Report>) {
        let Some(session) = self.sessions.find(worker) else { return };
        session.reports_seen += reports.len() as u64;
        let task = session.task;
        let now = self.began.elapsed();
        for Report { grant, outcome, duration, measurement } in reports {
            let block = BlockRef { task, index: grant.index };
            let has_succeeded = outcome == Outcome::Succeeded;
            let answer = self.actions.len();
            let event = Event::Reported { worker, block, attempt: grant.attempt, outcome, duration };
            self.scheduler.handle(event, now, &mut self.actions);
            if matches!(self.actions.get(answer), Some(Action::Refuse { .. })) {
                continue;
            }
            if let Some(measurement) = &measurement {
                self.marking.measured(block, measurement);
            }
            self.record.returned((worker, block), has_succeeded, duration, measurement.as_ref(), now);
        }
        self.carry_out();
    }

    /// A worker gives blocks back.
    pub(super) fn take_back(&mut self, worker: WorkerId, indices: &[u64]) {
        let Some(task) = self.sessions.find(worker).map(|session| session.task) else { return };
        let blocks = indices.iter().map(|index| BlockRef { task, index: *index }).collect();
        self.feed(Event::Returned { worker, blocks });
    }

    /// Time passed.
    pub(super) fn tick(&mut self) {
        self.armed = None;
        let now = self.now();
        self.end_silent_exits(now);
        if self.scheduler.next_deadline().is_some_and(|deadline| deadline <= now) {
            self.feed(Event::Ticked);
        }
        if let Err(error) = self.marking.flush_if_due(now) {
            self.fail(error);
        }
    }

    /// When to tick next; the driver says through `rearmed` when it wants to be earlier.
    pub(super) fn arm(&mut self) -> Option<Now> {
        self.armed = self.scheduler.next_deadline();
        self.armed
    }

    /// Ends the run with an error.
    fn fail(&mut self, error: Error) {
        self.error.get_or_insert(error);
        self.feed(Event::Cancelled);
    }

    /// What there is to know once the run has ended.
    pub(super) fn end(&mut self) -> RunEnd {
        if let Err(error) = self.marking.close() {
            self.error.get_or_insert(error);
        }
        self.board.publish(&self.scheduler);
        let outcome = self.scheduler.report();
        RunEnd {
            stats: self.record.finish(self.scheduler.pipeline(), &outcome),
            outcome,
            error: self.error.take(),
        }
    }

    /// Does what was asked, and what follows from that, until nothing is asked.
    fn carry_out(&mut self) {
        loop {
            let mut actions = std::mem::take(&mut self.actions);
            for action in actions.drain(..) {
                self.carry_out_one(action);
            }
            self.actions = actions;
            let Some(event) = self.events.pop_front() else { break };
            self.scheduler.handle(event, self.began.elapsed(), &mut self.actions);
        }
        let deadline = self.scheduler.next_deadline();
        if deadline.is_some_and(|deadline| self.armed.is_none_or(|armed| deadline < armed)) {
            self.armed = deadline;
            self.rearmed.notify_one();
        }
    }

    #[inline]
    fn carry_out_one(&mut self, action: Action) {
        match action {
            Action::Grant { worker, block, attempt } => match self.sessions.outbox(worker) {
                Some(outbox) => outbox.grant(Grant { index: block.index, attempt }),
                None => self.events.push_back(Event::Returned { worker, blocks: vec![block] }),
            },
            Action::Settle { block, end } => {
                self.settled_at = self.began.elapsed();
                self.marking.settled(block, end);
                self.record.settled(block, end);
            }
            Action::Launch { worker, task } => {
                self.sessions.expect(worker, task, false);
                self.record.appeared(worker, task, true, self.began.elapsed());
                self.requests.push(Request::Launch { task, workers: vec![worker] });
            }
            Action::Dismiss { worker } => self.send(worker, ServerMessage::Dismiss),
            Action::Kill { worker, reason } => {
                self.sessions.end(worker, "was given up");
                self.send(worker, ServerMessage::Kill { reason: reason.name().to_owned() });
                if let Some(outbox) = self.sessions.outbox(worker) {
                    outbox.finish();
                }
                self.requests.push(Request::Kill { worker, reason });
            }
            Action::Check { block } => self.requests.push(Request::Check { block }),
            Action::NoteFailure { block, attempt, worker, error } => {
                self.marking.failed_attempt(block);
                self.requests.push(Request::Note(Note::BlockFailed { block, attempt, worker, error }));
            }
            Action::Refuse { worker, block, reason } => {
                let message =
                    ServerMessage::ReportRefused { index: block.index, reason: reason.name().to_owned() };
                self.send(worker, message);
                self.requests.push(Request::Note(Note::ReportRefused { worker, block, reason }));
            }
            Action::EndTask { task } => {
                self.board.publish(&self.scheduler);
                self.requests.push(Request::TaskEnded(task));
            }
            Action::EndRun => self.ended.notify_one(),
        }
    }

    fn send(&self, worker: WorkerId, message: ServerMessage) {
        if let Some(outbox) = self.sessions.outbox(worker) {
            outbox.send(message);
        }
    }
}
