//! What changes in a worker client: blocks at hand, reports on their way, the connection. No locks and no sockets here.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::error::{Error, ErrorKind, Result};
use crate::scheduler::Outcome;
use crate::wire::frame::append_frame;
use crate::wire::message::{Grant, Report, WorkerMessage};
use crate::wire::stream::Stream;

/// How long a report may wait for others to travel with.
const FLUSH_AFTER: Duration = Duration::from_millis(1);
/// Most reports in one frame, so that long error texts stay within the limit of a frame.
const MOST_REPORTS: usize = 512;

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
    /// Whether this worker has asked for blocks: it has acquired, or tried to.
    is_ready: bool,
    is_draining: bool,
    /// Whether blocks were given back in the middle of their processing.
    gave_back: bool,
    /// Whether the driver has given this worker up.
    is_killed: bool,
    /// Weighted mean of what blocks took, later ones more.
    mean_duration: Option<Duration>,
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

impl State {
    pub(super) fn new(stream: Arc<Stream>) -> Self {
        Self {
            queue: VecDeque::new(),
            active: Vec::new(),
            reports: VecDeque::new(),
            sent: 0,
            acknowledged: 0,
            flush_at: None,
            link: Link::Up(stream),
            heard_at: Instant::now(),
            is_ready: false,
            is_draining: false,
            gave_back: false,
            is_killed: false,
            mean_duration: None,
            end: None,
        }
    }

    /// Adds blocks that were granted.
    pub(super) fn push_grants(&mut self, grants: &[Grant]) {
        self.queue.extend(grants);
    }

    /// The driver has given this worker up: what is here is not to be started, and no report counts any more.
    pub(super) fn note_kill(&mut self) {
        self.queue.clear();
        self.is_killed = true;
    }

    /// Takes no more blocks; gives those that were not started, the first time.
    pub(super) fn drain(&mut self) -> Option<Vec<Grant>> {
        if std::mem::replace(&mut self.is_draining, true) || self.end.is_some() {
            return None;
        }
        Some(self.queue.drain(..).collect())
    }

    /// Notes why there will be no more blocks; the first reason stays.
    pub(super) fn note_end(&mut self, end: End) {
        if !matches!(end, End::Dismissed) {
            self.queue.clear();
        }
        self.end.get_or_insert(end);
    }

    /// Whether reports wait that the server has not acknowledged.
    pub(super) fn has_reports(&self) -> bool {
        !self.reports.is_empty()
    }

    /// Whether this side has said good-bye and not heard that everything has arrived.
    pub(super) fn has_left_unheard(&self) -> bool {
        matches!(self.end, Some(End::Closed)) && self.has_reports() && !self.is_killed
    }

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
    pub(super) fn fail_active(&mut self) {
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

    /// Takes note of how long a block took.
    #[inline]
    pub(super) fn note_duration(&mut self, duration: Duration) {
        self.mean_duration = Some(self.mean_duration.map_or(duration, |mean| (mean + duration) / 2));
    }

    /// How long a block may be expected to take, once one was processed.
    pub(super) const fn mean_duration(&self) -> Option<Duration> {
        self.mean_duration
    }

    /// Takes what is being processed, to be given back.
    pub(super) fn take_active(&mut self) -> Vec<Grant> {
        self.gave_back = true;
        self.active.drain(..).map(|(grant, _)| grant).collect()
    }

    /// Whether blocks were given back in the middle of their processing.
    pub(super) const fn gave_back(&self) -> bool {
        self.gave_back
    }

    /// Notes that blocks are asked for; whether that is new.
    pub(super) fn ask(&mut self) -> bool {
        !self.is_draining && !std::mem::replace(&mut self.is_ready, true)
    }

    /// Whether blocks were asked for and are still wanted.
    pub(super) const fn wants_blocks(&self) -> bool {
        self.is_ready && !self.is_draining
    }

    pub(super) const fn is_draining(&self) -> bool {
        self.is_draining
    }

    /// Whether reports wait that could be sent now.
    pub(super) fn can_send(&self) -> bool {
        self.has_unsent() && matches!(self.link, Link::Up(_))
    }

    pub(super) fn has_unsent(&self) -> bool {
        self.sent < self.reports.len()
    }

    /// Appends a frame with reports that were not sent, and takes them as sent.
    pub(super) fn pack_unsent(&mut self, out: &mut Vec<u8>) {
        let count = (self.reports.len() - self.sent).min(MOST_REPORTS);
        let unsent = self.reports.range(self.sent..self.sent + count);
        append_frame(out, |body| WorkerMessage::pack_reports(count, unsent, body))
            .expect("reports whose errors are kept short fit in a frame");
        self.sent += count;
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
