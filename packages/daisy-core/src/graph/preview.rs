//! What a run would do, without running it.

use super::{Levels, Within};
use crate::geometry::{Coordinate, Roi};
use crate::ids::TaskId;
use crate::plan::{BlockLayout, Fit, Pipeline};

/// First blocks that a preview names.
const FIRST_BLOCKS: u64 = 5;

/// What a task would do.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskPreview {
    /// The task.
    pub task: TaskId,
    /// Blocks per axis.
    pub grid_shape: Vec<u64>,
    /// Number of blocks.
    pub blocks: u64,
    /// Number of levels; blocks of one level never conflict.
    pub levels: u64,
    /// Blocks of the largest level: how many workers the task could use at the most.
    pub largest_parallelism: u64,
    /// Voxels (in cubic world units) that all blocks read together, those read twice counted twice.
    pub read_volume: u128,
    /// Voxels (in cubic world units) that all blocks write together.
    pub write_volume: u128,
    /// Indices of the blocks that would be handed out first if nothing had to be waited for.
    pub first_blocks: Vec<u64>,
    /// What the user should know before a long run.
    pub warnings: Vec<String>,
}

/// What each task of a pipeline would do, in the order of the tasks.
#[must_use]
pub fn preview(pipeline: &Pipeline) -> Vec<TaskPreview> {
    pipeline.task_ids().map(|id| preview_task(pipeline, id)).collect()
}

fn preview_task(pipeline: &Pipeline, id: TaskId) -> TaskPreview {
    let plan = pipeline.task(id);
    let layout = plan.layout();
    let levels = Levels::new(layout, plan.options().read_write_conflict);
    let (read_volume, write_volume) = volumes(layout);
    let mut warnings = own_warnings(layout);
    for upstream in pipeline.upstream(id) {
        warnings.extend(edge_warning(
            pipeline.task(*upstream).name(),
            pipeline.task(*upstream).layout(),
            layout,
        ));
    }
    TaskPreview {
        task: id,
        grid_shape: layout.grid().shape().to_vec(),
        blocks: layout.block_count(),
        levels: if layout.block_count() == 0 { 0 } else { levels.count() },
        largest_parallelism: largest_level(layout, &levels),
        read_volume,
        write_volume,
        first_blocks: first_blocks(layout, &Within::new(layout, plan.options().read_write_conflict)),
        warnings,
    }
}

/// The level with the smallest residues holds, on each axis, at least as many blocks as any other.
fn largest_level(layout: &BlockLayout, levels: &Levels) -> u64 {
    if layout.block_count() == 0 { 0 } else { levels.count_in(levels.count() - 1, &layout.grid().whole()) }
}

/// Sums over all blocks; a sum of products over a grid is the product of the sums per axis.
fn volumes(layout: &BlockLayout) -> (u128, u128) {
    if layout.block_count() == 0 {
        return (0, 0);
    }
    let (mut read, mut write) = (1u128, 1u128);
    for axis in 0..layout.dims() {
        let count = u128::from(layout.grid().shape()[axis]);
        let written = (layout.written_roi().shape()[axis]) as u128;
        let context = (layout.context_lower()[axis] + layout.context_upper()[axis]) as u128;
        write = write.saturating_mul(written);
        read = read.saturating_mul(written + count * context);
    }
    (read, write)
}

fn first_blocks(layout: &BlockLayout, within: &Within) -> Vec<u64> {
    let (grid, levels) = (layout.grid(), within.levels());
    let offset = levels.offset(0);
    let mut found = Vec::new();
    let mut position = offset;
    while grid.len() > 0 && (found.len() as u64) < FIRST_BLOCKS {
        found.push(grid.index(&position));
        let Some(axis) = (0..grid.dims())
            .rev()
            .find(|axis| position[*axis] + levels.period()[*axis] < grid.shape()[*axis])
        else {
            break;
        };
        position[axis] += levels.period()[axis];
        position[axis + 1..grid.dims()].copy_from_slice(&offset[axis + 1..grid.dims()]);
    }
    found
}

fn own_warnings(layout: &BlockLayout) -> Vec<String> {
    if layout.block_count() == 0 {
        return vec![format!(
            "no blocks: total ROI {} has no room for a block of {} with context {} below and {} above (fit={:?})",
            layout.total_roi(),
            layout.block_shape(),
            layout.context_lower(),
            layout.context_upper(),
            layout.fit().name(),
        )];
    }
    let (total, written) = (layout.total_write_roi(), layout.written_roi());
    if layout.fit() == Fit::Valid && written != total {
        return vec![format!(
            "fit=\"valid\" leaves a remainder that no block writes: blocks write {written} of {total}; \
             use fit=\"shrink\" or \"overhang\" to process it"
        )];
    }
    Vec::new()
}

/// Says if blocks read voxels that the upstream task does not write.
fn edge_warning(name: &str, upstream: &BlockLayout, layout: &BlockLayout) -> Option<String> {
    if layout.block_count() == 0 {
        return None;
    }
    let last = layout.read_roi(layout.block_count() - 1).end();
    let first = layout.read_roi(0).begin();
    let read = Roi::between(first, Coordinate::from_fn(layout.dims(), |axis| last[axis]));
    let written = upstream.written_roi();
    if upstream.block_count() > 0 && written.contains(&read) {
        return None;
    }
    let written = if upstream.block_count() == 0 { "nothing".to_owned() } else { written.to_string() };
    Some(format!(
        "reads {read}, of which upstream task {name:?} writes {written}: for the rest nothing is waited for"
    ))
}
