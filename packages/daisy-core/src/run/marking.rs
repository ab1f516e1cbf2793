//! The sink of marks with its clock: flushed now and then while there is something new.

use std::time::Duration;

use crate::error::Result;
use crate::ids::BlockRef;
use crate::marks::MarkSink;
use crate::measurement::Measurement;
use crate::scheduler::{BlockEnd, Now};

/// Time between flushes.
pub(super) const FLUSH_EVERY: Duration = Duration::from_secs(1);

/// A sink, or none, and whether it has something to flush.
pub(super) struct Marking {
    sink: Option<Box<dyn MarkSink>>,
    is_dirty: bool,
    flushed_at: Now,
}

impl Marking {
    pub(super) const fn new(sink: Option<Box<dyn MarkSink>>) -> Self {
        Self { sink, is_dirty: false, flushed_at: Now::ZERO }
    }

    #[inline]
    pub(super) fn settled(&mut self, block: BlockRef, end: BlockEnd) {
        if let Some(sink) = &mut self.sink {
            sink.settled(block, end);
            self.is_dirty = true;
        }
    }

    pub(super) fn failed_attempt(&mut self, block: BlockRef) {
        if let Some(sink) = &mut self.sink {
            sink.failed_attempt(block);
            self.is_dirty = true;
        }
    }

    #[inline]
    pub(super) fn measured(&mut self, block: BlockRef, measurement: &Measurement) {
        if let Some(sink) = &mut self.sink {
            sink.measured(block, measurement);
            self.is_dirty = true;
        }
    }

    /// Flushes if there is something new and the last time is long enough ago.
    #[inline]
    pub(super) fn flush_if_due(&mut self, now: Now) -> Result<()> {
        if !self.is_dirty || now < self.flushed_at + FLUSH_EVERY {
            return Ok(());
        }
        self.flushed_at = now;
        self.flush()
    }

    /// Flushes what is there and lets the sink go, with whatever it holds.
    pub(super) fn close(&mut self) -> Result<()> {
        let flushed = self.flush();
        self.sink = None;
        flushed
    }

    /// Flushes what is there.
    pub(super) fn flush(&mut self) -> Result<()> {
        self.is_dirty = false;
        match &mut self.sink {
            Some(sink) => sink.flush(),
            None => Ok(()),
        }
    }
}
