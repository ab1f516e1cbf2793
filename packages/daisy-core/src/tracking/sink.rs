//! The stores of a run, written by a thread of their own so that the server never waits for a disk.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::store::Store;
use super::writer::Writer;
use crate::error::{Error, Result};
use crate::ids::BlockRef;
use crate::marks::MarkSink;
use crate::measurement::Measurement;
use crate::scheduler::BlockEnd;

/// Marks that wait for the disk, at most; who brings more then waits, too.
const MOST_MARKS: usize = 1 << 20;

/// What waits to be written.
#[derive(Debug, Default)]
pub(super) struct Marks {
    pub(super) done: Vec<BlockRef>,
    pub(super) failed: Vec<BlockRef>,
    pub(super) measured: Vec<(BlockRef, Measurement)>,
}

impl Marks {
    pub(super) const fn len(&self) -> usize {
        self.done.len() + self.failed.len() + self.measured.len()
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What the server and the writer share.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    pub(super) marks: Marks,
    /// Whether the writer has taken marks that are not all written.
    pub(super) is_writing: bool,
    /// Whether somebody waits for all to be written.
    pub(super) is_urgent: bool,
    pub(super) is_closing: bool,
    /// The first thing that went wrong; nothing is written after it.
    pub(super) error: Option<Error>,
    pub(super) has_failed: bool,
}

/// The inbox with its bells.
#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) inbox: Mutex<Inbox>,
    /// Rings for the writer.
    pub(super) arrived: Condvar,
    /// Rings for those who wait for the writer.
    pub(super) written: Condvar,
}

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the writer, at most this long.
    fn wait<'a>(&self, inbox: MutexGuard<'a, Inbox>) -> MutexGuard<'a, Inbox> {
        let (inbox, _) =
            self.written.wait_timeout(inbox, Duration::from_secs(1)).unwrap_or_else(PoisonError::into_inner);
        inbox
    }
}

/// Takes the marks of a run to the stores of its tasks.
///
/// A mark is on its way to the operating system as soon as it is made, so that a kill loses what was in
/// flight; while marks come fast, those of a few milliseconds share one write.
#[derive(Debug)]
pub struct TrackingSink {
    shared: Arc<Shared>,
    has_store: Vec<bool>,
    writer: Option<JoinHandle<Result<()>>>,
}

impl TrackingSink {
    /// A sink for tasks with these stores, in the order of the pipeline; `None` for tasks without.
    ///
    /// # Errors
    /// `Io` if the thread that writes cannot be started.
    pub fn new(stores: Vec<Option<Store>>) -> Result<Self> {
        let has_store = stores.iter().map(Option::is_some).collect();
        let shared = Arc::new(Shared::default());
        let writer = Writer::new(Arc::clone(&shared), stores);
        let writer = thread::Builder::new().name("daisy-tracking".to_owned()).spawn(move || writer.run())?;
        Ok(Self { shared, has_store, writer: Some(writer) })
    }

    fn push(&self, block: BlockRef, add: impl FnOnce(&mut Marks)) {
        if !self.has_store.get(block.task.index()).is_some_and(|has| *has) {
            return;
        }
        let mut inbox = self.shared.lock();
        while inbox.marks.len() >= MOST_MARKS && !inbox.has_failed {
            inbox = self.shared.wait(inbox);
        }
        if inbox.has_failed {
            return;
        }
        let was_empty = inbox.marks.is_empty();
        add(&mut inbox.marks);
        drop(inbox);
        if was_empty {
            self.shared.arrived.notify_one();
        }
    }

    /// Writes all, puts it on the disk and releases the locks.
    ///
    /// # Errors
    /// The first that occurred.
    pub fn close(mut self) -> Result<()> {
        let flushed = self.flush();
        flushed.and(self.end_writer())
    }

    fn end_writer(&mut self) -> Result<()> {
        let Some(writer) = self.writer.take() else { return Ok(()) };
        self.shared.lock().is_closing = true;
        self.shared.arrived.notify_one();
        writer.join().unwrap_or_else(|_| {
            Err(Error::new(crate::ErrorKind::Store, "the thread that writes tracking stores panicked"))
        })
    }
}

impl MarkSink for TrackingSink {
    fn settled(&mut self, block: BlockRef, end: BlockEnd) {
        match end {
            // What `check_function` found done is as good as done by us.
            BlockEnd::Completed | BlockEnd::Skipped => self.push(block, |marks| marks.done.push(block)),
            BlockEnd::Failed => {}
        }
    }

    fn failed_attempt(&mut self, block: BlockRef) {
        self.push(block, |marks| marks.failed.push(block));
    }

    fn measured(&mut self, block: BlockRef, measurement: &Measurement) {
        self.push(block, |marks| marks.measured.push((block, *measurement)));
    }

    fn flush(&mut self) -> Result<()> {
        let mut inbox = self.shared.lock();
        inbox.is_urgent = true;
        self.shared.arrived.notify_one();
        while (!inbox.marks.is_empty() || inbox.is_writing) && !inbox.has_failed {
            inbox = self.shared.wait(inbox);
        }
        inbox.is_urgent = false;
        inbox.error.take().map_or(Ok(()), Err)
    }
}

impl Drop for TrackingSink {
    fn drop(&mut self) {
        // Who wants to hear of errors calls `close`, or `flush` before.
        self.end_writer().ok();
    }
}
