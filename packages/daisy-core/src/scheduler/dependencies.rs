//! Who waits for whom in this run: what does not change while it goes on.

use std::sync::Arc;

use super::prior::Prior;
use crate::geometry::{GridBox, IndexSet};
use crate::graph::{Within, covered, writers};
use crate::ids::TaskId;
use crate::plan::{BlockLayout, Pipeline};

/// The pipeline, and what of it did not have to run from the start.
#[derive(Debug)]
pub(super) struct Dependencies {
    pub(super) pipeline: Arc<Pipeline>,
    pub(super) within: Vec<Within>,
    /// Blocks that are skipped from the start, per task: done in an earlier run, or masked.
    pub(super) prior: Vec<IndexSet>,
    /// How many of them are masked and not done.
    pub(super) masked: Vec<u64>,
}

impl Dependencies {
    pub(super) fn new(pipeline: Arc<Pipeline>, mut prior: Vec<Prior>) -> Self {
        prior.resize_with(pipeline.tasks().len(), Prior::default);
        let (prior, masked): (Vec<IndexSet>, Vec<u64>) = pipeline
            .tasks()
            .iter()
            .zip(prior)
            .map(|(task, prior)| prior.into_skipped(task.layout().block_count()))
            .unzip();
        let within = pipeline
            .tasks()
            .iter()
            .zip(&prior)
            .map(|(task, prior)| {
                let conflict = task.options().read_write_conflict;
                let chain = Within::new(task.layout(), conflict);
                if prior.count() == 0 { chain } else { Within::with_gaps(task.layout(), conflict) }
            })
            .collect();
        Self { pipeline, within, prior, masked }
    }

    #[inline]
    pub(super) fn layout(&self, id: TaskId) -> &BlockLayout {
        self.pipeline.task(id).layout()
    }

    /// Whether nothing waits for any block of a task.
    #[inline]
    pub(super) fn has_no_dependents(&self, id: TaskId) -> bool {
        self.within[id.index()].is_free() && self.pipeline.downstream(id).is_empty()
    }

    /// For how many blocks one waits at the beginning of the run.
    pub(super) fn count(&self, id: TaskId, index: u64) -> u32 {
        let (layout, within, prior) = (self.layout(id), &self.within[id.index()], &self.prior[id.index()]);
        let mut count = 0u64;
        if !within.is_free() {
            let position = layout.grid().position(index);
            if prior.count() == 0 {
                count = u64::from(within.predecessor_count(&position));
            } else {
                within
                    .for_each_predecessor(&position, &mut |other| count += u64::from(!prior.contains(other)));
            }
        }
        for upstream in self.pipeline.upstream(id) {
            let above = self.layout(*upstream);
            let prior = &self.prior[upstream.index()];
            let boxed = writers(above, layout, index);
            count += boxed.volume();
            if prior.count() > 0 {
                boxed.for_each_row(above.grid(), |first, length| count -= prior.count_range(first, length));
            }
        }
        u32::try_from(count).unwrap_or(u32::MAX - 1)
    }

    /// The blocks of a task that read what each of its upstream tasks writes.
    pub(super) fn covered(&self, id: TaskId) -> Vec<GridBox> {
        let layout = self.layout(id);
        self.pipeline.upstream(id).iter().map(|up| covered(self.layout(*up), layout)).collect()
    }

    /// Whether part of a task or of what it reads was done before the run: which blocks wait for nothing
    /// must then be looked for.
    pub(super) fn is_partly_done(&self, id: TaskId) -> bool {
        self.pipeline.upstream(id).iter().chain([&id]).any(|task| self.prior[task.index()].count() > 0)
    }

    /// Whether every block waits for a task of which nothing is done yet.
    pub(super) fn all_wait(&self, id: TaskId, covered: &[GridBox]) -> bool {
        let whole = self.layout(id).grid().whole();
        let upstream = self.pipeline.upstream(id).iter().zip(covered);
        upstream.into_iter().any(|(up, covered)| self.prior[up.index()].count() == 0 && *covered == whole)
    }
}
