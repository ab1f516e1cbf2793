//! What a run would do, for `daisy.plan`.

use daisy_core::graph::{Levels, covered};
use daisy_core::ids::TaskId;
use daisy_core::plan::BlockLayout;
use pyo3::prelude::*;

use crate::pipeline_plan::PipelinePlan;

/// Facts of one task of a plan.
#[pyclass(name = "TaskFacts", module = "daisy._core", frozen, get_all)]
pub(crate) struct TaskFacts {
    /// Number of blocks.
    blocks: u64,
    /// Blocks per axis.
    block_grid_shape: Vec<u64>,
    /// Groups of blocks that can never conflict.
    levels: u64,
    /// Blocks of the largest level: the most that can run at once.
    parallelism: u64,
    /// Voxels read per voxel written, for a whole block.
    read_per_write: f64,
    /// Blocks that read something that an upstream task does not write, per upstream task position.
    uncovered: Vec<(u32, u64)>,
}

/// The facts of each task, by position.
#[pyfunction]
pub(crate) fn task_facts(plan: &PipelinePlan) -> Vec<TaskFacts> {
    plan.pipeline.task_ids().map(|task| facts_of(plan, task)).collect()
}

fn facts_of(plan: &PipelinePlan, id: TaskId) -> TaskFacts {
    let task = plan.pipeline.task(id);
    let layout = task.layout();
    let levels = Levels::new(layout, task.options().read_write_conflict);
    // The level with offset zero has the most blocks: it is the last.
    let parallelism = levels.count_in(levels.count() - 1, &layout.grid().whole());
    let uncovered = plan.pipeline.upstream(id).iter().filter_map(|up| {
        let missing = layout.block_count() - covered(plan.pipeline.task(*up).layout(), layout).volume();
        (missing > 0).then_some((up.0, missing))
    });
    TaskFacts {
        blocks: layout.block_count(),
        block_grid_shape: layout.grid().shape().to_vec(),
        levels: levels.count(),
        parallelism,
        read_per_write: read_per_write(layout),
        uncovered: uncovered.collect(),
    }
}

fn read_per_write(layout: &BlockLayout) -> f64 {
    (0..layout.dims())
        .map(|axis| {
            let write = layout.block_shape()[axis] as f64;
            (write + layout.context_lower()[axis] as f64 + layout.context_upper()[axis] as f64) / write
        })
        .product()
}
