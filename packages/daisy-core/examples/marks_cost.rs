//! What a mark and a recorded return cost the server, in nanoseconds.
#![allow(missing_docs, clippy::unwrap_used)]

use std::time::{Duration, Instant};

use daisy_core::geometry::Roi;
use daisy_core::ids::{BlockRef, TaskId, WorkerId};
use daisy_core::marks::MarkSink;
use daisy_core::plan::{Fit, Pipeline, TaskOptions, TaskPlan};
use daisy_core::scheduler::BlockEnd;
use daisy_core::stats::{Recorder, Return};
use daisy_core::tracking::{Store, StoreOptions, TrackingSink, reset};

const BLOCKS: u64 = 4_000_000;

fn main() -> daisy_core::Result<()> {
    let (total, one) = (Roi::new(&[0], &[BLOCKS as i64])?, Roi::new(&[0], &[1])?);
    let task = TaskPlan::new("a", total, one, one, Fit::Valid, TaskOptions::default())?;
    let path = std::env::temp_dir().join(format!("daisy-marks-cost-{}", std::process::id()));
    let options = StoreOptions { host: "here".to_owned(), measured: false, settings: None };
    let mut sink = TrackingSink::new(vec![Some(Store::open(&path, &task, &options)?)])?;
    let began = Instant::now();
    for index in 0..BLOCKS {
        sink.settled(BlockRef { task: TaskId(0), index }, BlockEnd::Completed);
    }
    report("mark", began.elapsed());
    sink.flush()?;
    report("mark, until all are written", began.elapsed());
    sink.close()?;
    reset(&path, "here")?;

    let pipeline = Pipeline::new(vec![task], &[])?;
    let mut recorder = Recorder::new(&pipeline, &[]);
    let began = Instant::now();
    for index in 0..BLOCKS {
        recorder.returned(&Return {
            block: BlockRef { task: TaskId(0), index },
            worker: Some(WorkerId(index % 4)),
            has_succeeded: true,
            duration: Duration::from_nanos(1000 + index % 77),
            measurement: None,
            at: Duration::from_nanos(2000 * index),
        });
    }
    report("recorded return", began.elapsed());
    let began = Instant::now();
    let stats = recorder.finish(&pipeline, &[]);
    println!("finish: {:?} for {} returns", began.elapsed(), stats.per_task[0].blocks_processed);
    Ok(())
}

fn report(what: &str, took: Duration) {
    println!("{what}: {:.0} ns", took.as_nanos() as f64 / BLOCKS as f64);
}
