//! How much the serial driver costs a block: `serial BLOCKS`, in one and in three dimensions.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Instant;

use daisy_core::geometry::Roi;
use daisy_core::plan::{Fit, Pipeline, TaskOptions, TaskPlan};
use daisy_core::run::{RunConfig, SerialRun, Step};

fn main() {
    let blocks: i64 = std::env::args().nth(1).map_or(1_000_000, |text| text.parse().unwrap());
    let edge = (blocks as f64).cbrt() as i64;
    for (name, shape, halo) in [("1-D", vec![blocks], 0), ("3-D with conflicts", vec![edge; 3], 1)] {
        let grown = |size: i64| 10 * size + 2 * halo;
        let total =
            Roi::new(&vec![-halo; shape.len()], &shape.iter().map(|size| grown(*size)).collect::<Vec<_>>());
        let read = Roi::new(&vec![-halo; shape.len()], &vec![grown(1); shape.len()]).unwrap();
        let write = Roi::new(&vec![0; shape.len()], &vec![10; shape.len()]).unwrap();
        let task = TaskPlan::new("nothing", total.unwrap(), read, write, Fit::Valid, TaskOptions::default())
            .unwrap();
        let run = SerialRun::new(RunConfig::new(Arc::new(Pipeline::new(vec![task], &[]).unwrap()))).unwrap();
        let (began, mut count) = (Instant::now(), 0u64);
        let end = run.run(&mut |_block, _attempt| {
            count += 1;
            Step::SUCCEEDED
        });
        assert!(end.outcome.has_succeeded());
        println!("{name}: {:.2} M blocks/s", count as f64 / began.elapsed().as_secs_f64() / 1e6);
    }
}
