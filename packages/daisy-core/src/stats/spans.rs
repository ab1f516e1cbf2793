//! Which worker had which block from when to when, for runs that are not too long to be drawn.

use serde::Serialize;

/// Spans kept, at most. Later ones are in the lanes alone.
const MOST_SPANS: usize = 20_000;

/// One attempt, as it was returned.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Span {
    /// Position of the task in the pipeline.
    pub task: u32,
    /// Index of the block.
    pub index: u64,
    /// Who had it; `None` for a client that never registered.
    pub worker: Option<u64>,
    /// Seconds after the begin of the run.
    pub begin: f64,
    /// Seconds after the begin of the run.
    pub end: f64,
    /// Whether the block succeeded.
    pub succeeded: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Spans {
    kept: Vec<Span>,
    lost: u64,
}

impl Spans {
    #[inline]
    pub(super) fn push(&mut self, span: impl FnOnce() -> Span) {
        if self.kept.len() < MOST_SPANS {
            self.kept.push(span());
        } else {
            self.lost += 1;
        }
    }

    pub(super) fn finish(self) -> (Vec<Span>, u64) {
        (self.kept, self.lost)
    }
}
