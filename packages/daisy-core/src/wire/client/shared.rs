//! What the threads of a worker client share.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::WorkerConfig;
use super::connect::Registered;
use crate::error::{Error, ErrorKind, Result};
use crate::scheduler::Outcome;
use crate::wire::frame::{FrameBuffer, append_frame};
use crate::wire::message::{Grant, Report, Welcome, WorkerMessage};
use crate::wire::stream::Stream;

/// How long a report may wait for others to travel with.
const FLUSH_AFTER: Duration = Duration::from_millis(1);
/// Most reports in one frame, so that long error texts stay within the limit of a frame.
const MOST_REPORTS: usize = 512;
/// Longest good-bye.
const CLOSE_LIMIT: Duration = Duration::from_secs(5);

/// Everything that the worker's threads, the reader and the pulse have in common.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) config: WorkerConfig,
    pub(super) incarnation: [u8; 16],
    pub(super) welcome: Welcome,
    state: Mutex<State>,
    /// A block arrived, or none will.
    granted: Condvar,
    /// The pulse has something to look at before its time.
    pulse: Condvar,
    /// Held while writing, so that frames do not mix; the bytes are kept for their memory.
    out: Mutex<Vec<u8>>,
}

/// What changes.
#[derive(Debug)]
pub(super) struct State {
    /// Blocks that were granted and not started.
    queue: VecDeque<Grant>,
    /// Blocks that were started, and when.
    active: Vec<(Grant, Instant)>,
    /// Reports that the server has not acknowledged; the first `sent` were sent over this connection.
    reports: VecDeque<Report>,
    sent: usize,
    /// How many reports the server has acknowledged.
    acknowledged: u64,
    /// When reports that wait for others are to be sent.
    pub(super) flush_at: Option<Instant>,
    pub(super) link: Link,
    /// When the server was last heard.
    pub(super) heard_at: Instant,
    is_draining: bool,
    pub(super) end: Option<End>,
}

/// The connection, if there is one.
#[derive(Clone, Debug)]
pub(super) enum Link {
    Up(Arc<Stream>),
    Down,
}

/// Why there will be no more blocks.
#[derive(Debug)]
pub(super) enum End {
    /// The server has nothing left for this worker, or has ended.
    Dismissed,
    /// This side said good-bye.
    Closed,
    /// The driver is gone, or does not want this worker back.
    Gone(Lost),
}

/// An error that can be given to each of several callers.
#[derive(Clone, Debug)]
pub(super) struct Lost {
    pub(super) kind: ErrorKind,
    pub(super) text: String,
}

impl Lost {
    pub(super) fn to_error(&self) -> Error {
        Error::new(self.kind, self.text.clone())
    }
}

impl Shared {
    pub(super) fn new(
        config: WorkerConfig,
        incarnation: [u8; 16],
        registered: Registered,
    ) -> (Self, Arc<Stream>, FrameBuffer) {
        let stream = Arc::new(registered.stream);
        let state = State {
            queue: VecDeque::new(),
            active: Vec::new(),
            reports: VecDeque::new(),
            sent: 0,
            acknowledged: 0,
            flush_at: None,
            link: Link::Up(Arc::clone(&stream)),
            heard_at: Instant::now(),
            is_draining: false,
            end: None,
        };
        let shared = Self {
            config,
            incarnation,
            welcome: registered.welcome,
            state: Mutex::new(state),
            granted: Condvar::new(),
            pulse: Condvar::new(),
            out: Mutex::new(Vec::new()),
        };
        (shared, stream, registered.frames)
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn wait_for_grant<'a>(
        &self,
        state: MutexGuard<'a, State>,
        limit: Duration,
    ) -> MutexGuard<'a, State> {
        self.granted.wait_timeout(state, limit).unwrap_or_else(PoisonError::into_inner).0
    }

    pub(super) fn wait_for_pulse<'a>(
        &self,
        state: MutexGuard<'a, State>,
        limit: Duration,
    ) -> MutexGuard<'a, State> {
        self.pulse.wait_timeout(state, limit).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Waits before connecting again; whether there is no reason to any more.
    pub(super) fn wait_to_come_back(&self, pause: Duration) -> bool {
        let state = self.lock();
        state.end.is_some()
            || self
                .granted
                .wait_timeout_while(state, pause, |state| state.end.is_none())
                .unwrap_or_else(PoisonError::into_inner)
                .0
                .end
                .is_some()
    }

    pub(super) fn wake_pulse(&self) {
        self.pulse.notify_one();
    }

    /// Adds blocks that the server granted.
    pub(super) fn push_grants(&self, grants: &[Grant]) {
        self.lock().queue.extend(grants);
        if grants.len() == 1 { self.granted.notify_one() } else { self.granted.notify_all() }
    }

    /// Notes why there will be no more blocks; the first reason stays.
    pub(super) fn end(&self, end: End) {
        let mut state = self.lock();
        if !matches!(end, End::Dismissed) {
            state.queue.clear();
        }
        state.end.get_or_insert(end);
        drop(state);
        self.granted.notify_all();
        self.pulse.notify_all();
    }

    /// The driver ended this worker: what is here is not to be started.
    pub(super) fn kill(&self) {
        self.lock().queue.clear();
        self.end(End::Dismissed);
    }

    /// Sends the reports that wait. What cannot be sent is kept for the next connection.
    pub(super) fn flush(&self) {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            out.clear();
            let mut state = self.lock();
            state.flush_at = None;
            let Link::Up(stream) = state.link.clone() else { return };
            if !state.has_unsent() {
                return;
            }
            let count = state.pack_unsent(&mut out);
            state.sent += count;
            drop(state);
            if stream.write_all(&out).is_err() {
                stream.end();
                return;
            }
        }
    }

    /// Sends a message, if there is a connection.
    pub(super) fn send(&self, message: &WorkerMessage) -> io::Result<()> {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        out.clear();
        let Link::Up(stream) = self.lock().link.clone() else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        append_frame(&mut out, |body| message.pack(body)).map_err(io::Error::other)?;
        stream.write_all(&out).inspect_err(|_| stream.end())
    }

    /// After a lost connection: says again what the server may not have heard.
    pub(super) fn resume(&self) {
        self.flush();
        if self.lock().is_draining {
            self.send(&WorkerMessage::Draining).ok();
        }
        self.granted.notify_all();
    }

    /// Gives blocks back that were not started.
    pub(super) fn give_back(&self, grants: &[Grant]) {
        let unstarted = grants.iter().map(|grant| grant.index).collect();
        // What a lost connection held is given back when this worker returns without it.
        self.send(&WorkerMessage::Return(unstarted)).ok();
    }

    pub(super) fn drain(&self) {
        let mut state = self.lock();
        if std::mem::replace(&mut state.is_draining, true) || state.end.is_some() {
            return;
        }
        let unstarted: Vec<Grant> = state.queue.drain(..).collect();
        drop(state);
        self.flush();
        self.send(&WorkerMessage::Draining).ok();
        if !unstarted.is_empty() {
            self.give_back(&unstarted);
        }
        self.granted.notify_all();
    }

    /// While reports are left and the connection is lost, waits for it to come back.
    fn wait_for_link(&self) {
        let limit = self.welcome.reconnect_grace;
        let must_wait = |state: &mut State| {
            state.end.is_none() && !state.reports.is_empty() && matches!(state.link, Link::Down)
        };
        drop(self.granted.wait_timeout_while(self.lock(), limit, must_wait));
    }

    /// Sends what is left and says good-bye; the reader then ends with the stream.
    pub(super) fn close(&self) {
        self.drain();
        self.lock().fail_active();
        self.wait_for_link();
        self.flush();
        if matches!(self.lock().end, Some(End::Closed)) {
            return;
        }
        self.send(&WorkerMessage::Goodbye).ok();
        let mut state = self.lock();
        state.end = Some(End::Closed);
        if let Link::Up(stream) = &state.link {
            // Not closed yet: what the server still sends is read to its end, or closing would reset the
            // connection and the last reports would be lost with it.
            stream.limit_reads(Some(CLOSE_LIMIT)).ok();
            stream.end_writing().ok();
        }
        drop(state);
        self.granted.notify_all();
        self.pulse.notify_all();
    }
}

impl State {
    /// Starts the next block that is here.
    #[inline]
    pub(super) fn start_next(&mut self) -> Option<Grant> {
        if self.is_draining {
            return None;
        }
        let grant = self.queue.pop_front()?;
        self.active.push((grant, Instant::now()));
        Some(grant)
    }

    /// Ends a block that was started.
    #[inline]
    pub(super) fn finish(&mut self, grant: Grant) -> Result<()> {
        match &self.end {
            Some(End::Closed) => return Err(Error::new(ErrorKind::Refused, "this worker has said good-bye")),
            Some(End::Gone(lost)) => return Err(lost.to_error()),
            Some(End::Dismissed) | None => {}
        }
        let Some(place) = self.active.iter().position(|(active, _)| *active == grant) else {
            return Err(Error::new(ErrorKind::Refused, "this worker does not hold the block it reports on")
                .with_context("block", grant.index)
                .with_context("attempt", grant.attempt)
                .with_context("expected", "a block that was acquired and not reported"));
        };
        self.active.swap_remove(place);
        Ok(())
    }

    /// Reports on blocks that were started and will not be ended: the server must not wait for them.
    fn fail_active(&mut self) {
        for (grant, started) in std::mem::take(&mut self.active) {
            let error = "WorkerLeft: the worker said good-bye while it held the block".into();
            let outcome = Outcome::Failed { error };
            let report = Report { grant, outcome, duration: started.elapsed(), measurement: None };
            self.reports.push_back(report);
        }
    }

    /// Keeps a report to be sent; whether it is time to send. Half of what is at hand being reported, the server
    /// can send more while the other half is processed.
    #[inline]
    pub(super) fn push_report(&mut self, report: Report) -> bool {
        self.reports.push_back(report);
        self.reports.len() - self.sent >= self.queue.len()
    }

    /// Has the pulse send reports soon; whether it must be woken for that.
    #[inline]
    pub(super) fn arm_flush(&mut self) -> bool {
        if self.flush_at.is_some() {
            return false;
        }
        self.flush_at = Some(Instant::now() + FLUSH_AFTER);
        true
    }

    pub(super) const fn is_draining(&self) -> bool {
        self.is_draining
    }

    /// Whether reports wait that could be sent now.
    pub(super) fn can_send(&self) -> bool {
        self.has_unsent() && matches!(self.link, Link::Up(_))
    }

    fn has_unsent(&self) -> bool {
        self.sent < self.reports.len()
    }

    /// Appends a frame with reports that were not sent; how many.
    fn pack_unsent(&self, out: &mut Vec<u8>) -> usize {
        let count = (self.reports.len() - self.sent).min(MOST_REPORTS);
        let unsent = self.reports.range(self.sent..self.sent + count);
        append_frame(out, |body| WorkerMessage::pack_reports(count, unsent, body))
            .map_or_else(|_| 0, |()| count)
    }

    /// Forgets reports that the server has seen.
    pub(super) fn acknowledge(&mut self, reports_seen: u64) {
        let known = reports_seen.saturating_sub(self.acknowledged).min(self.reports.len() as u64) as usize;
        self.reports.drain(..known);
        self.sent = self.sent.saturating_sub(known);
        self.acknowledged += known as u64;
    }

    /// The connection is lost: what was sent and not acknowledged is to be sent again.
    pub(super) fn link_lost(&mut self) {
        self.sent = 0;
        self.link = Link::Down;
    }

    /// Every block that the server may think this worker has: held, or reported without an answer.
    pub(super) fn held(&self) -> Vec<Grant> {
        let active = self.active.iter().map(|(grant, _)| *grant);
        let reported = self.reports.iter().map(|report| report.grant);
        active.chain(self.queue.iter().copied()).chain(reported).collect()
    }

    /// When the block that was started first was started.
    pub(super) fn oldest_start(&self) -> Option<Instant> {
        self.active.iter().map(|(_, started)| *started).min()
    }
}
