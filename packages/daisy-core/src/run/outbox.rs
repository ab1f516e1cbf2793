//! What is on its way to one worker.

use std::cell::{Cell, RefCell};
use std::task::{Context, Waker};

use tokio::sync::Notify;

use crate::error::Result;
use crate::scheduler::Now;
use crate::wire::{Grant, ServerMessage, append_frame};

/// Refusals that may wait for a worker; further ones are in the driver's log only.
const MOST_WAITING: usize = 1000;

/// Messages for the worker behind one connection. Filled by the driver, emptied by the connection, on one thread.
///
/// Bounded: grants by what the worker said it can hold, refusals by a constant, the rest comes once each.
pub(super) struct Outbox {
    /// The number of the connection, given by the server and never used again.
    pub(super) connection: u64,
    /// When the worker was last heard.
    pub(super) heard_at: Cell<Now>,
    grants: RefCell<Vec<Grant>>,
    messages: RefCell<Vec<ServerMessage>>,
    is_finished: Cell<bool>,
    waker: RefCell<Option<Waker>>,
    cut: Notify,
}

impl Outbox {
    pub(super) fn new(connection: u64, now: Now) -> Self {
        Self {
            connection,
            heard_at: Cell::new(now),
            grants: RefCell::default(),
            messages: RefCell::default(),
            is_finished: Cell::new(false),
            waker: RefCell::default(),
            cut: Notify::new(),
        }
    }

    /// Sends a block.
    pub(super) fn grant(&self, grant: Grant) {
        let mut grants = self.grants.borrow_mut();
        grants.push(grant);
        if grants.len() == 1 {
            self.wake();
        }
    }

    /// Sends a message, after the blocks that are on their way.
    pub(super) fn send(&self, message: ServerMessage) {
        let mut messages = self.messages.borrow_mut();
        if messages.len() < MOST_WAITING || !matches!(message, ServerMessage::ReportRefused { .. }) {
            messages.push(message);
            self.wake();
        }
    }

    /// Ends the connection once everything is sent.
    pub(super) fn finish(&self) {
        self.is_finished.set(true);
        self.wake();
    }

    /// Ends the connection at once: what a peer that reads nothing does not take is not waited for.
    pub(super) fn cut(&self) {
        self.is_finished.set(true);
        self.cut.notify_one();
    }

    /// Waits until the connection is to end at once.
    pub(super) async fn until_cut(&self) {
        self.cut.notified().await;
    }

    /// Whether the connection is to end.
    pub(super) const fn is_finished(&self) -> bool {
        self.is_finished.get()
    }

    /// Whether something is to be sent; if not, `context` is woken when there is.
    pub(super) fn poll(&self, context: &Context<'_>) -> bool {
        let has_news =
            !self.grants.borrow().is_empty() || !self.messages.borrow().is_empty() || self.is_finished.get();
        if !has_news {
            let mut waker = self.waker.borrow_mut();
            if !waker.as_ref().is_some_and(|waker| waker.will_wake(context.waker())) {
                *waker = Some(context.waker().clone());
            }
        }
        has_news
    }

    /// Appends frames with everything that is to be sent.
    pub(super) fn pack(&self, reports_seen: u64, out: &mut Vec<u8>) -> Result<()> {
        let mut grants = self.grants.borrow_mut();
        if !grants.is_empty() {
            append_frame(out, |body| ServerMessage::pack_grants(reports_seen, &grants, body))?;
            grants.clear();
        }
        for message in self.messages.borrow_mut().drain(..) {
            append_frame(out, |body| message.pack(body))?;
        }
        Ok(())
    }

    fn wake(&self) {
        if let Some(waker) = self.waker.borrow_mut().take() {
            waker.wake();
        }
    }
}
