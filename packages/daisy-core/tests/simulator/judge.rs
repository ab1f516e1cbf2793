//! Knows the geometry and what was reported; says whether each grant was right and the end is true.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use daisy_core::geometry::IndexSet;
use daisy_core::graph::{Levels, Within, writers};
use daisy_core::ids::{BlockRef, TaskId, WorkerId};
use daisy_core::plan::Pipeline;
use daisy_core::scheduler::{BlockEnd, Prior, Scheduler, TaskState};

pub(crate) struct Judge {
    pipeline: Arc<Pipeline>,
    prior: Vec<IndexSet>,
    leased: HashMap<BlockRef, (WorkerId, u32)>,
    ends: BTreeMap<BlockRef, BlockEnd>,
    failures: HashMap<BlockRef, u32>,
    abandoned: HashSet<TaskId>,
}

impl Judge {
    pub(crate) fn new(pipeline: Arc<Pipeline>, prior: &[Prior]) -> Self {
        let prior = pipeline
            .tasks()
            .iter()
            .zip(prior)
            .map(|(task, prior)| {
                let mut set = IndexSet::new(task.layout().block_count());
                prior.done.iter().chain(&prior.masked).for_each(|each| set.insert_all(each));
                set
            })
            .collect();
        Self {
            pipeline,
            prior,
            leased: HashMap::new(),
            ends: BTreeMap::new(),
            failures: HashMap::new(),
            abandoned: HashSet::new(),
        }
    }

    pub(crate) fn ends(&self) -> &BTreeMap<BlockRef, BlockEnd> {
        &self.ends
    }

    pub(crate) fn is_leased(&self, block: BlockRef, worker: WorkerId, attempt: u32) -> bool {
        self.leased.get(&block) == Some(&(worker, attempt))
    }

    /// Whether what waits for this block may start.
    fn has_ended_well(&self, block: BlockRef) -> bool {
        self.prior[block.task.index()].contains(block.index)
            || matches!(self.ends.get(&block), Some(BlockEnd::Completed | BlockEnd::Skipped))
    }

    pub(crate) fn granted(&mut self, worker: WorkerId, block: BlockRef, attempt: u32) {
        assert!(!self.prior[block.task.index()].contains(block.index), "{block} need not run");
        assert!(!self.ends.contains_key(&block), "{block} was granted after its end");
        assert_eq!(attempt, self.failures.get(&block).copied().unwrap_or(0) + 1, "attempt of {block}");
        self.may_start(block);
        assert_eq!(self.leased.insert(block, (worker, attempt)), None, "{block} was granted twice");
    }

    /// Everything that must have come before has, and nothing that conflicts is going on.
    pub(crate) fn may_start(&self, block: BlockRef) {
        let plan = self.pipeline.task(block.task);
        let layout = plan.layout();
        if plan.options().read_write_conflict {
            let levels = Levels::new(layout, true);
            let grid = layout.grid();
            let level = levels.level(&grid.position(block.index));
            let (read, write) = (layout.read_roi(block.index), layout.write_roi(block.index));
            for near in [layout.writers_of(&read), layout.readers_of(&write)] {
                for position in near.positions() {
                    let other = BlockRef { task: block.task, index: grid.index(&position) };
                    if other == block {
                        continue;
                    }
                    assert!(!self.leased.contains_key(&other), "{block} and {other} at once");
                    assert!(
                        levels.level(&position) > level || self.has_ended_well(other),
                        "{block} before {other}, which it conflicts with"
                    );
                }
            }
        }
        for upstream in self.pipeline.upstream(block.task) {
            let above = self.pipeline.task(*upstream).layout();
            for position in writers(above, layout, block.index).positions() {
                let other = BlockRef { task: *upstream, index: above.grid().index(&position) };
                assert!(self.has_ended_well(other), "{block} before {other}, which writes what it reads");
            }
        }
    }

    pub(crate) fn attempt_failed(&mut self, block: BlockRef, attempt: u32) {
        self.leased.remove(&block);
        let failures = self.failures.entry(block).or_insert(0);
        *failures += 1;
        assert_eq!(*failures, attempt);
    }

    pub(crate) fn given_back(&mut self, block: BlockRef) {
        self.leased.remove(&block);
    }

    pub(crate) fn settled(&mut self, block: BlockRef, end: BlockEnd) {
        self.leased.remove(&block);
        let most = self.pipeline.task(block.task).options().retry.max_retries;
        let failures = self.failures.get(&block).copied().unwrap_or(0);
        assert_eq!(
            end == BlockEnd::Failed,
            failures == most + 1,
            "{block} {end:?} after {failures} failures"
        );
        assert_eq!(self.ends.insert(block, end), None, "{block} ended twice");
    }

    pub(crate) fn abandoned(&mut self, task: TaskId) {
        self.abandoned.insert(task);
        self.leased.retain(|block, _| block.task != task);
    }

    /// The end: every block is where its dependencies put it, and the counts say so.
    pub(crate) fn verdict(&self, scheduler: &Scheduler) {
        assert!(self.leased.is_empty(), "leased at the end: {:?}", self.leased);
        let report = scheduler.report();
        let mut lost: Vec<IndexSet> = Vec::new();
        for id in self.pipeline.task_ids() {
            lost.push(self.lost_blocks(id, &lost));
            let outcome = &report.tasks[id.index()];
            let counters = outcome.state.counters();
            let count = |wanted: BlockEnd| {
                self.ends.iter().filter(|(block, end)| block.task == id && **end == wanted).count() as u64
            };
            assert_eq!(counters.completed, count(BlockEnd::Completed));
            assert_eq!(counters.failed, count(BlockEnd::Failed));
            assert_eq!(counters.skipped, count(BlockEnd::Skipped) + self.prior[id.index()].count());
            assert_eq!(counters.settled(), counters.total, "{id} has ended with blocks left");
            let orphaned: Vec<u64> = outcome.orphaned.iter().collect();
            let expected: Vec<u64> =
                lost[id.index()].iter().filter(|index| !outcome.failed.contains(*index)).collect();
            assert_eq!(orphaned, expected, "orphaned blocks of {id}");
            assert_eq!(matches!(outcome.state, TaskState::Abandoned { .. }), self.abandoned.contains(&id));
        }
        assert_eq!(report.has_succeeded(), lost.iter().all(|lost| lost.count() == 0));
    }

    /// Blocks that failed or depend on one that did, by looking at every block; all that is left of a task
    /// that was given up.
    fn lost_blocks(&self, id: TaskId, upstream_lost: &[IndexSet]) -> IndexSet {
        let plan = self.pipeline.task(id);
        let layout = plan.layout();
        let conflict = plan.options().read_write_conflict;
        let has_gaps = self.prior[id.index()].count() > 0;
        let within =
            if has_gaps { Within::with_gaps(layout, conflict) } else { Within::new(layout, conflict) };
        let mut lost = IndexSet::new(layout.block_count());
        let mut order: Vec<u64> = (0..layout.block_count()).collect();
        order.sort_by_key(|index| within.levels().level(&layout.grid().position(*index)));
        for index in order {
            let block = BlockRef { task: id, index };
            if self.has_ended_well(block) {
                continue;
            }
            let mut is_lost = self.ends.contains_key(&block) || self.abandoned.contains(&id);
            within.for_each_predecessor(&layout.grid().position(index), &mut |other| {
                is_lost |= lost.contains(other);
            });
            for upstream in self.pipeline.upstream(id) {
                let above = self.pipeline.task(*upstream).layout();
                is_lost |= writers(above, layout, index)
                    .positions()
                    .any(|position| upstream_lost[upstream.index()].contains(above.grid().index(&position)));
            }
            if is_lost {
                lost.insert(index);
            }
        }
        lost
    }
}
