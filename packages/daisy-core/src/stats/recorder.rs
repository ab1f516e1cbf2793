//! Records a run as it goes on.

use std::time::Duration;

use serde::Serialize;

use super::cells::{CellState, Cells, Room};
use super::lanes::Lanes;
use super::merge::{KnownWorker, WorkerStats, merge};
pub use super::spans::Span;
use super::spans::Spans;
use super::tally::RunTally;
use super::task_stats::{TaskRecorder, TaskStats};
use super::timeline::Timeline;
use crate::ids::{BlockRef, WorkerId};
use crate::measurement::Measurement;
use crate::plan::Pipeline;
use crate::scheduler::{BlockEnd, Prior};

/// An accepted return.
#[derive(Clone, Copy, Debug)]
pub struct Return<'a> {
    /// The block.
    pub block: BlockRef,
    /// Who returned it; `None` for a client that never registered.
    pub worker: Option<WorkerId>,
    /// Whether it succeeded.
    pub has_succeeded: bool,
    /// How long it took, by the worker's clock.
    pub duration: Duration,
    /// What it used, if that was measured.
    pub measurement: Option<&'a Measurement>,
    /// When it arrived, after the begin of the run.
    pub at: Duration,
}

/// Everything that is recorded of a run.
#[derive(Clone, Debug)]
pub struct Recorder {
    tally: RunTally,
    tasks: Vec<TaskRecorder>,
    throughput: Vec<Timeline>,
    lanes: Lanes,
    spans: Spans,
    cells: Vec<Cells>,
}

/// How busy one worker was.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorkerLane {
    /// The worker.
    pub worker: u64,
    /// Share of each bin in which it had a block.
    pub busy: Vec<f64>,
}

/// What was recorded of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RunStats {
    /// Per task, in the order of the pipeline.
    pub per_task: Vec<TaskStats>,
    /// Per worker.
    pub per_worker: Vec<WorkerStats>,
    /// What happened when. Serialized by itself.
    #[serde(skip)]
    pub history: History,
    /// What became of each block, per task. Not serialized.
    #[serde(skip)]
    pub cells: Vec<Cells>,
}

/// What happened when.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct History {
    /// Seconds per bin of `throughput` and of the lanes.
    pub bin_seconds: f64,
    /// Accepted returns per bin, per task.
    pub throughput: Vec<Vec<f64>>,
    /// How busy workers were.
    pub lanes: Vec<WorkerLane>,
    /// The first attempts of the run, one by one.
    pub spans: Vec<Span>,
    /// Attempts for which there was no more room in `spans`.
    pub spans_left_out: u64,
}

impl Recorder {
    /// A recorder for a run of this pipeline, of which this is skipped from the start.
    #[must_use]
    pub fn new(pipeline: &Pipeline, prior: &[Prior]) -> Self {
        let tasks = pipeline.tasks();
        let mut room = Room::new();
        let mut cells: Vec<Cells> = tasks.iter().map(|task| room.take(task.layout().block_count())).collect();
        for (cells, prior) in cells.iter_mut().zip(prior) {
            // What is both masked and done counts as done, as it does in the scheduler.
            for (set, state) in [(&prior.masked, CellState::Masked), (&prior.done, CellState::DoneBefore)] {
                if let Some(set) = set {
                    cells.set_all(set, state);
                }
            }
        }
        Self {
            tally: RunTally::new(tasks.len()),
            cells,
            tasks: vec![TaskRecorder::default(); tasks.len()],
            throughput: vec![Timeline::default(); tasks.len()],
            lanes: Lanes::default(),
            spans: Spans::default(),
        }
    }

    /// Takes note of the end of a block.
    #[inline]
    pub fn settled(&mut self, block: BlockRef, end: BlockEnd) {
        let state = match end {
            BlockEnd::Completed => CellState::Completed,
            BlockEnd::Failed => CellState::Failed,
            BlockEnd::Skipped => CellState::FoundDone,
        };
        if let Some(cells) = self.cells.get_mut(block.task.index()) {
            cells.set(block.index, state);
        }
    }

    /// Takes note of an accepted return.
    #[inline]
    pub fn returned(&mut self, back: &Return<'_>) {
        let task = back.block.task.index();
        if task >= self.tasks.len() {
            return;
        }
        self.tally.count(back.block.task, back.worker, back.has_succeeded, back.duration);
        self.throughput[task].add(back.at, 1.0);
        let begin = back.at.saturating_sub(back.duration);
        if let Some(worker) = back.worker {
            self.lanes.add_span(worker, begin, back.at);
        }
        self.spans.push(|| Span {
            task: back.block.task.0,
            index: back.block.index,
            worker: back.worker.map(|worker| worker.0),
            begin: begin.as_secs_f64(),
            end: back.at.as_secs_f64(),
            succeeded: back.has_succeeded,
        });
        if back.has_succeeded {
            let seconds = back.duration.as_secs_f64();
            self.tasks[task].push(back.block.index, back.worker, seconds, back.measurement);
            self.cells[task].set_seconds(back.block.index, seconds as f32);
        }
    }

    /// The tallies so far.
    #[must_use]
    pub const fn tally(&self) -> &RunTally {
        &self.tally
    }

    /// What was recorded, joined with what else is known of the workers.
    #[must_use]
    pub fn finish(&self, pipeline: &Pipeline, known: &[KnownWorker]) -> RunStats {
        let per_task = pipeline.task_ids().zip(pipeline.tasks()).zip(&self.tasks);
        let per_task = per_task
            .map(|((id, task), recorder)| recorder.finish(task.name(), self.tally.task(id)))
            .collect();
        let widest = self.throughput.iter().map(Timeline::width).fold(0.0, f64::max);
        let width = widest.max(self.lanes.width());
        let lane = |(worker, bins): (WorkerId, Vec<f64>)| WorkerLane {
            worker: worker.0,
            busy: bins.into_iter().map(|seconds| (seconds / width).min(1.0)).collect(),
        };
        let (spans, spans_left_out) = self.spans.clone().finish();
        RunStats {
            per_task,
            per_worker: merge(&self.tally, known),
            history: History {
                bin_seconds: width,
                throughput: self.throughput.iter().map(|timeline| timeline.bins_of(width)).collect(),
                lanes: self.lanes.bins(width).into_iter().map(lane).collect(),
                spans,
                spans_left_out,
            },
            cells: self.cells.clone(),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::geometry::Roi;
    use crate::ids::TaskId;
    use crate::plan::{Fit, TaskOptions, TaskPlan};

    fn pipeline(blocks: &[i64]) -> Pipeline {
        let one = Roi::new(&[0], &[1]).unwrap();
        let task = |(place, blocks): (usize, &i64)| {
            let total = Roi::new(&[0], &[*blocks]).unwrap();
            TaskPlan::new(&format!("t{place}"), total, one, one, Fit::Valid, TaskOptions::default()).unwrap()
        };
        Pipeline::new(blocks.iter().enumerate().map(task).collect(), &[]).unwrap()
    }

    /// A run in virtual time: two workers take turns, block `i` takes `seconds(i)`.
    fn run(blocks: u32, seconds: impl Fn(u32) -> f64) -> RunStats {
        let pipeline = pipeline(&[i64::from(blocks)]);
        let mut recorder = Recorder::new(&pipeline, &[]);
        let mut clocks = [Duration::ZERO; 2];
        for index in 0..blocks {
            let (worker, duration) = (index as usize % 2, Duration::from_secs_f64(seconds(index)));
            clocks[worker] += duration;
            recorder.returned(&Return {
                block: BlockRef { task: TaskId(0), index: u64::from(index) },
                worker: Some(WorkerId(worker as u64)),
                has_succeeded: index != 3,
                duration,
                measurement: None,
                at: clocks[worker],
            });
        }
        recorder.finish(&pipeline, &[])
    }

    #[test]
    fn a_workload_that_slows_down_has_a_positive_slope() {
        let slowing = run(1000, |block| 1.0 + f64::from(block) * 0.001);
        let slope = slowing.per_task[0].slope.unwrap();
        assert!((slope - 0.001).abs() < 1e-5, "{slope}");
        let steady = run(1000, |_| 1.0);
        assert_eq!(steady.per_task[0].slope, Some(0.0));
    }

    #[test]
    fn all_parts_tell_the_same_story() {
        let stats = run(100, |_| 2.0);
        let task = &stats.per_task[0];
        assert_eq!((task.blocks_processed, task.tally.failed, task.seconds.count), (100, 1, 99));
        assert_eq!(
            stats.per_worker.iter().map(|worker| worker.blocks_processed).collect::<Vec<_>>(),
            [50, 50]
        );
        assert_eq!(stats.history.throughput[0].iter().sum::<f64>(), 100.0);
        assert_eq!((stats.history.spans.len(), stats.history.spans_left_out), (100, 0));
        assert_eq!(stats.cells[0].seconds.iter().filter(|seconds| seconds.is_nan()).count(), 1);
        for lane in &stats.history.lanes {
            let busy: f64 = lane.busy.iter().sum::<f64>() * stats.history.bin_seconds;
            assert!((busy - 100.0).abs() < 1e-6, "{busy}");
        }
    }

    #[test]
    fn long_runs_are_recorded_in_bounded_memory() {
        let stats = run(200_000, |_| 0.001);
        assert_eq!(stats.per_task[0].blocks_processed, 200_000);
        assert!(
            stats.history.spans.len() as u64 + stats.history.spans_left_out == 200_000
                && stats.history.spans_left_out > 0
        );
        assert!(stats.history.throughput[0].len() <= 512 && stats.history.lanes[0].busy.len() <= 512);
        let huge = pipeline(&[1 << 40]);
        let mut recorder = Recorder::new(&huge, &[]);
        recorder.returned(&Return {
            block: BlockRef { task: TaskId(0), index: 1 << 39 },
            worker: None,
            has_succeeded: true,
            duration: Duration::from_secs(1),
            measurement: None,
            at: Duration::from_secs(2),
        });
        assert_eq!(recorder.finish(&huge, &[]).cells, [Cells::default()]);
    }
}
