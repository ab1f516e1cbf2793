//! The thread that writes marks.

use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use super::sink::{Inbox, Marks, Shared};
use super::store::Store;
use crate::error::Result;
use crate::ids::TaskId;

/// Rest after a write, in which marks gather for the next. Shorter than any block that is worth tracking.
const BETWEEN_WRITES: Duration = Duration::from_millis(2);

/// Owns the stores; takes marks from the inbox until that is closed.
#[derive(Debug)]
pub(super) struct Writer {
    shared: Arc<Shared>,
    stores: Vec<Option<Store>>,
    touched: Vec<bool>,
}

impl Writer {
    pub(super) fn new(shared: Arc<Shared>, stores: Vec<Option<Store>>) -> Self {
        let touched = vec![false; stores.len()];
        Self { shared, stores, touched }
    }

    /// Writes until the inbox is closed; then every store is put on the disk and set free.
    pub(super) fn run(mut self) -> Result<()> {
        // Taken back and forth, so that its memory is used again.
        let mut marks = Marks::default();
        while self.take(&mut marks) {
            let written = self.write(&mut marks);
            let mut inbox = self.shared.lock();
            inbox.is_writing = false;
            if let Err(error) = written {
                inbox.error = Some(error);
                inbox.has_failed = true;
                inbox.marks = Marks::default();
            }
            drop(inbox);
            self.shared.written.notify_all();
        }
        let has_failed = self.shared.lock().has_failed;
        let mut result = Ok(());
        for store in self.stores.into_iter().flatten() {
            // After a failure nothing more is written: what is in memory is lost, like after a crash.
            if !has_failed {
                result = result.and(store.close());
            }
        }
        result
    }

    /// Waits for marks and takes them all; `false` when there will be no more.
    fn take(&self, marks: &mut Marks) -> bool {
        let mut inbox = self.rest();
        while inbox.marks.is_empty() {
            if inbox.is_closing {
                return false;
            }
            inbox = self.shared.arrived.wait(inbox).unwrap_or_else(PoisonError::into_inner);
        }
        std::mem::swap(&mut inbox.marks, marks);
        inbox.is_writing = true;
        true
    }

    /// Lets marks gather for a moment, unless somebody waits for them.
    fn rest(&self) -> MutexGuard<'_, Inbox> {
        let inbox = self.shared.lock();
        let may_rest = |inbox: &mut Inbox| !inbox.is_urgent && !inbox.is_closing;
        let (inbox, _) = self
            .shared
            .arrived
            .wait_timeout_while(inbox, BETWEEN_WRITES, may_rest)
            .unwrap_or_else(PoisonError::into_inner);
        inbox
    }

    fn write(&mut self, marks: &mut Marks) -> Result<()> {
        for (block, measurement) in marks.measured.drain(..) {
            if let Some(store) = self.store(block.task) {
                store.keep(block.index, &measurement)?;
            }
        }
        for block in marks.failed.drain(..) {
            if let Some(store) = self.store(block.task) {
                store.count_failure(block.index)?;
            }
        }
        for block in marks.done.drain(..) {
            if let Some(store) = self.store(block.task) {
                store.mark_done(block.index)?;
            }
        }
        for (store, touched) in self.stores.iter_mut().zip(&mut self.touched) {
            if std::mem::take(touched) {
                store.as_mut().map_or(Ok(()), Store::flush)?;
            }
        }
        Ok(())
    }

    fn store(&mut self, task: TaskId) -> Option<&mut Store> {
        let index = task.index();
        *self.touched.get_mut(index)? = true;
        self.stores[index].as_mut()
    }
}
