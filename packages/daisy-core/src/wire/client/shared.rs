//! What the threads of a worker client share.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::WorkerConfig;
use super::connect::Registered;
use super::state::{End, Link, State};
use crate::wire::frame::{FrameBuffer, append_frame};
use crate::wire::message::{Grant, Welcome, WorkerMessage};
use crate::wire::stream::Stream;

/// Longest good-bye.
pub(super) const CLOSE_LIMIT: Duration = Duration::from_secs(5);

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

impl Shared {
    pub(super) fn new(
        config: WorkerConfig,
        incarnation: [u8; 16],
        registered: Registered,
    ) -> (Self, Arc<Stream>, FrameBuffer) {
        let stream = Arc::new(registered.stream);
        let state = State::new(Arc::clone(&stream));
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
        self.lock().push_grants(grants);
        if grants.len() == 1 { self.granted.notify_one() } else { self.granted.notify_all() }
    }

    /// Notes why there will be no more blocks; the first reason stays.
    pub(super) fn end(&self, end: End) {
        let mut state = self.lock();
        state.note_end(end);
        drop(state);
        self.granted.notify_all();
        self.pulse.notify_all();
    }

    /// The driver ended this worker: what is here is not to be started.
    pub(super) fn kill(&self) {
        self.lock().note_kill();
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
            state.pack_unsent(&mut out);
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

    /// Has the server send blocks. Before the first of them is asked for it sends none: a worker that dies while it
    /// gets ready must not cost a block an attempt.
    pub(super) fn ask(&self) {
        // If there is no connection, the next one begins with it.
        self.send(&WorkerMessage::Ready { capacity: self.config.capacity.max(1) }).ok();
    }

    /// After a lost connection: says again what the server may not have heard.
    pub(super) fn resume(&self) {
        self.flush();
        if self.lock().wants_blocks() {
            self.ask();
        }
        if self.lock().is_draining() {
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
        let Some(unstarted) = state.drain() else { return };
        drop(state);
        self.flush();
        self.send(&WorkerMessage::Draining).ok();
        if !unstarted.is_empty() {
            self.give_back(&unstarted);
        }
        self.granted.notify_all();
    }

    /// Takes no more blocks and gives back all, those that are being processed too.
    pub(super) fn give_back_all(&self) {
        self.drain();
        let active = self.lock().take_active();
        if !active.is_empty() {
            self.give_back(&active);
        }
    }

    /// While reports are left and the connection is lost, waits for it to come back.
    fn wait_for_link(&self) {
        let limit = self.welcome.reconnect_grace;
        let must_wait = |state: &mut State| {
            state.end.is_none() && state.has_reports() && matches!(state.link, Link::Down)
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
        self.lock().end = Some(End::Closed);
        self.say_goodbye();
        self.granted.notify_all();
        self.pulse.notify_all();
    }

    /// The last word, after which only the server speaks.
    fn say_goodbye(&self) {
        self.send(&WorkerMessage::Goodbye).ok();
        let state = self.lock();
        if let Link::Up(stream) = &state.link {
            // Not closed yet: what the server still sends is read to its end, or closing would reset the
            // connection and the last reports would be lost with it.
            stream.limit_reads(Some(CLOSE_LIMIT)).ok();
            stream.end_writing().ok();
        }
    }

    /// Over a new connection: says what was lost with the one before.
    pub(super) fn leave_again(&self) {
        self.flush();
        self.say_goodbye();
    }
}
