//! What is run: a random pipeline, its workers and what goes wrong.

use std::sync::Arc;
use std::time::Duration;

use daisy_core::geometry::{IndexSet, Roi};
use daisy_core::ids::TaskId;
use daisy_core::plan::{Edge, Fit, Pipeline, Resources, RetryPolicy, TaskOptions, TaskPlan};
use daisy_core::scheduler::Prior;

use crate::faults::Faults;

#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    pub(crate) seed: u64,
    /// Seed of durations and faults alone.
    pub(crate) timing: u64,
    pub(crate) most_blocks: u64,
    pub(crate) most_workers: u32,
    pub(crate) most_tasks: usize,
    pub(crate) faults: Faults,
    pub(crate) externals: bool,
    /// Whether the most workers that tasks may have change on the way.
    pub(crate) elastic: bool,
    /// Whether tasks have timeouts and give up when nothing works, which depends on what comes first.
    pub(crate) impatient: bool,
    pub(crate) large: bool,
}

impl Scenario {
    pub(crate) fn random(seed: u64, most_blocks: u64, most_workers: u32, faults: Faults) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed ^ 0x5ce0);
        let workers = if rng.bool() { 4 } else { most_workers };
        Self {
            seed,
            timing: 0,
            // Mostly small: a small failing case is worth more than a large one.
            most_blocks: if rng.u8(..) < 20 { most_blocks } else { 4 + rng.u64(..most_blocks / 10) },
            most_workers: 1 + rng.u32(..workers),
            most_tasks: 1 + rng.usize(..5),
            faults,
            externals: rng.bool(),
            elastic: rng.u8(..) < 60,
            impatient: true,
            large: false,
        }
    }

    pub(crate) fn large(seed: u64, most_blocks: u64, most_workers: u32) -> Self {
        let faults = Faults {
            bad_blocks: 0.001,
            failures: 0.02,
            deaths: 0.002,
            hangs: 0.0005,
            cuts: 0.001,
            never_connected: 0.01,
            detached: 0.1,
            drains: 0.001,
            late_reports: 0.5,
            noise: 0.05,
        };
        Self {
            most_blocks,
            most_workers,
            most_tasks: 3,
            faults,
            large: true,
            ..Self::random(seed, 10, 2, Faults::none())
        }
    }

    /// Scenarios with less in them, the most different first.
    pub(crate) fn smaller(&self) -> Vec<Self> {
        let mut smaller = Vec::new();
        if self.most_tasks > 1 {
            smaller.push(Self { most_tasks: self.most_tasks - 1, ..self.clone() });
        }
        if self.most_blocks > 2 {
            smaller.push(Self { most_blocks: self.most_blocks / 2, ..self.clone() });
            smaller.push(Self { most_blocks: self.most_blocks - 1, ..self.clone() });
        }
        if self.most_workers > 1 {
            smaller.push(Self { most_workers: self.most_workers / 2, ..self.clone() });
            smaller.push(Self { most_workers: self.most_workers - 1, ..self.clone() });
        }
        if self.elastic {
            smaller.push(Self { elastic: false, ..self.clone() });
        }
        if self.externals {
            smaller.push(Self { externals: false, ..self.clone() });
        }
        smaller.extend(self.faults.fewer().into_iter().map(|faults| Self { faults, ..self.clone() }));
        smaller
    }

    pub(crate) fn pipeline(&self) -> Arc<Pipeline> {
        let mut rng = fastrand::Rng::with_seed(self.seed);
        let dims = 1 + rng.usize(..3);
        let count = 1 + rng.usize(..self.most_tasks);
        let tasks = (0..count).map(|number| self.task(&mut rng, dims, number)).collect();
        let mut edges = Vec::new();
        for downstream in 1..count as u32 {
            for upstream in 0..downstream {
                if rng.u8(..) < if upstream + 1 == downstream { 200 } else { 60 } {
                    edges.push(Edge { upstream: TaskId(upstream), downstream: TaskId(downstream) });
                }
            }
        }
        Arc::new(Pipeline::new(tasks, &edges).unwrap())
    }

    fn task(&self, rng: &mut fastrand::Rng, dims: usize, number: usize) -> TaskPlan {
        let per_axis = (self.most_blocks as f64).powf(1.0 / dims as f64).floor().max(1.0) as i64;
        let (mut total, mut read, mut write) = ((vec![], vec![]), (vec![], vec![]), (vec![], vec![]));
        let has_context = rng.bool();
        for _ in 0..dims {
            let block = 1 + rng.i64(0..5);
            let mut side = || if has_context { rng.i64(0..=block + 2) } else { 0 };
            let (lower, upper) = (side(), side());
            let cells = if self.large { per_axis } else { 1 + rng.i64(0..per_axis) };
            total.0.push(rng.i64(-3..3));
            total.1.push(cells * block + lower + upper - rng.i64(0..block));
            write.0.push(0);
            write.1.push(block);
            read.0.push(-lower);
            read.1.push(lower + block + upper);
        }
        let roi = |pair: &(Vec<i64>, Vec<i64>)| Roi::new(&pair.0, &pair.1).unwrap();
        let fit = [Fit::Valid, Fit::Overhang, Fit::Shrink][rng.usize(..3)];
        let total_shape: Vec<i64> = total.1.iter().map(|size| (*size).max(1)).collect();
        let options = TaskOptions {
            read_write_conflict: rng.u8(..) < 200,
            max_workers: if self.large { self.most_workers } else { 1 + rng.u32(..self.most_workers) },
            retry: RetryPolicy {
                max_retries: rng.u32(..4),
                max_worker_restarts: 1 + rng.u32(..20),
                give_up_after: (rng.bool() && self.impatient).then_some(5 + rng.u64(..50)),
                timeout: (rng.bool() && self.impatient).then_some(Duration::from_secs(1 + rng.u64(..20))),
            },
            requires: Resources::new((rng.u8(..) < 60).then(|| ("gpu".to_owned(), 1 + rng.u64(..2)))),
            checked: rng.u8(..) < 40,
        };
        TaskPlan::new(
            &format!("t{number}"),
            roi(&(total.0, total_shape)),
            roi(&read),
            roi(&write),
            fit,
            options,
        )
        .unwrap()
    }

    /// Blocks done in an earlier run and blocks masked out.
    pub(crate) fn prior(&self, pipeline: &Pipeline) -> Vec<Prior> {
        let mut rng = fastrand::Rng::with_seed(self.seed ^ 0x9409);
        let mut some = |total: u64, chance: u8| {
            if rng.u8(..) >= chance || total == 0 {
                return None;
            }
            let mut set = IndexSet::new(total);
            for _ in 0..rng.u32(..4) {
                let first = rng.u64(..total);
                set.insert_range(first, 1 + rng.u64(..total));
            }
            for _ in 0..rng.u32(..8) {
                set.insert(rng.u64(..total));
            }
            Some(set)
        };
        pipeline
            .tasks()
            .iter()
            .map(|task| {
                let total = task.layout().block_count();
                Prior { done: some(total, 60), masked: some(total, 30) }
            })
            .collect()
    }
}
