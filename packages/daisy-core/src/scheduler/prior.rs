//! What does not have to run, known before the run.

use crate::geometry::IndexSet;

/// Blocks of one task that are skipped from the start.
#[derive(Clone, Debug, Default)]
pub struct Prior {
    /// Done in an earlier run.
    pub done: Option<IndexSet>,
    /// Masked out by the user.
    pub masked: Option<IndexSet>,
}

impl Prior {
    /// All skipped blocks of a task of `total` blocks, and how many of them are masked and not done.
    pub(super) fn into_skipped(self, total: u64) -> (IndexSet, u64) {
        let mut skipped = IndexSet::new(total);
        if let Some(done) = self.done {
            if done.len() == total {
                skipped = done;
            } else {
                skipped.insert_all(&done);
            }
        }
        let done = skipped.count();
        if let Some(masked) = self.masked {
            skipped.insert_all(&masked);
        }
        let masked = skipped.count() - done;
        (skipped, masked)
    }
}
