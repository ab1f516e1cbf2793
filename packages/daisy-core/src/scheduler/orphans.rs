//! What can never run: the dependents of what failed, region by region.

use std::sync::Arc;

use super::counters::TaskState;
use super::frontier::Frontier;
use crate::geometry::{Grid, GridBox, MAX_DIMS, Position};
use crate::graph::{readers, readers_of_box};
use crate::ids::{BlockRef, TaskId};
use crate::plan::Pipeline;

type Regions = Vec<(TaskId, GridBox)>;

impl Frontier {
    /// Orphans everything that depends on a block that failed for good.
    pub(super) fn orphan_dependents(&mut self, block: BlockRef) {
        let pipeline = Arc::clone(self.pipeline());
        let layout = pipeline.task(block.task).layout();
        let mut regions = Regions::new();
        self.push_successors(block, &mut regions);
        for downstream in pipeline.downstream(block.task) {
            regions.push((*downstream, readers(layout, pipeline.task(*downstream).layout(), block.index)));
        }
        self.orphan(&pipeline, regions);
    }

    /// Gives a task up: all of it that has not come to its end is orphaned, and what depends on that.
    pub(super) fn abandon(&mut self, id: TaskId, reason: &str) {
        let pipeline = Arc::clone(self.pipeline());
        let task = &mut self.tasks[id.index()];
        let TaskState::Running(counters) = &mut task.state else { return };
        let mut counters = std::mem::take(counters);
        task.orphaned = task.settled.complement();
        counters.orphaned = task.orphaned.count();
        (counters.waiting, counters.ready, counters.leased) = (0, 0, 0);
        task.state = TaskState::Abandoned { counters, reason: reason.into() };
        task.clear();
        let mut regions = Regions::new();
        let layout = pipeline.task(id).layout();
        let mut lost = Vec::new();
        runs(&self.tasks[id.index()].orphaned, |first, length| {
            boxes_of_run(layout.grid(), first, length, &mut lost)
        });
        for downstream in pipeline.downstream(id) {
            let below = pipeline.task(*downstream).layout();
            regions.extend(lost.iter().map(|each| (*downstream, readers_of_box(layout, below, each))));
        }
        self.touch(id);
        self.orphan(&pipeline, regions);
    }

    fn orphan(&mut self, pipeline: &Pipeline, mut regions: Regions) {
        while let Some((id, region)) = regions.pop() {
            let fresh = self.orphan_region(pipeline, id, &region);
            let layout = pipeline.task(id).layout();
            for each in &fresh {
                for downstream in pipeline.downstream(id) {
                    let below = pipeline.task(*downstream).layout();
                    regions.push((*downstream, readers_of_box(layout, below, each)));
                }
                self.push_successors_of_box(id, each, &mut regions);
            }
            if !fresh.is_empty() {
                self.touch(id);
            }
        }
    }

    /// Marks a region; gives the parts of it whose dependents must be looked at.
    fn orphan_region(&mut self, pipeline: &Pipeline, id: TaskId, region: &GridBox) -> Vec<GridBox> {
        let grid = *pipeline.task(id).layout().grid();
        let prior = &self.dependencies.prior[id.index()];
        let task = &mut self.tasks[id.index()];
        let Some(counters) = task.state.running() else { return Vec::new() };
        let before = task.orphaned.count();
        let mut parts = Vec::new();
        if prior.count() == 0 {
            region.for_each_row(&grid, |first, length| {
                task.orphaned.insert_range(first, length);
            });
            if task.orphaned.count() > before {
                parts.push(*region);
            }
        } else {
            // What was done in an earlier run is not orphaned, and neither is what depends on it alone.
            region.for_each_row(&grid, |first, length| {
                let end = first + length;
                let mut from = first;
                while let Some(start) = prior.next_missing(from).filter(|start| *start < end) {
                    let stop = prior.next_present(start).unwrap_or(end).min(end);
                    if task.orphaned.insert_range(start, stop - start) > 0 {
                        boxes_of_run(&grid, start, stop - start, &mut parts);
                    }
                    from = stop;
                }
            });
        }
        let new = task.orphaned.count() - before;
        // A block that waits for a failed one never was ready.
        counters.waiting -= new;
        counters.orphaned += new;
        parts
    }

    fn push_successors(&self, block: BlockRef, regions: &mut Regions) {
        let (task, within) = (self.task(block.task), &self.dependencies.within[block.task.index()]);
        if within.is_free() {
            return;
        }
        let grid = within.grid();
        within.for_each_successor(&grid.position(block.index), &mut |next| {
            if !task.orphaned.contains(next) {
                regions.push((block.task, unit(grid, next)));
            }
        });
    }

    /// Successors that are outside a box belong to blocks near its faces; the others are marked already.
    fn push_successors_of_box(&self, id: TaskId, region: &GridBox, regions: &mut Regions) {
        let within = &self.dependencies.within[id.index()];
        if within.is_free() {
            return;
        }
        let grid = *within.grid();
        let mut inner = *region;
        for axis in 0..grid.dims() {
            let reach = within.levels().period()[axis] - 1;
            if region.begin[axis] > 0 {
                inner.begin[axis] = (region.begin[axis] + reach).min(region.end[axis]);
            }
            if region.end[axis] < grid.shape()[axis] {
                inner.end[axis] = region.end[axis].saturating_sub(reach).max(inner.begin[axis]);
            }
        }
        for slab in slabs(region, &inner) {
            for position in slab.positions() {
                self.push_successors(BlockRef { task: id, index: grid.index(&position) }, regions);
            }
        }
    }
}

fn unit(grid: &Grid, index: u64) -> GridBox {
    let begin = grid.position(index);
    let mut end: Position = begin;
    end[..grid.dims()].iter_mut().for_each(|end| *end += 1);
    GridBox::new(grid.dims(), begin, end)
}

/// Calls `visit(first, length)` for each run of consecutive indices.
fn runs(set: &crate::geometry::IndexSet, mut visit: impl FnMut(u64, u64)) {
    let mut from = 0;
    while let Some(first) = set.next_present(from) {
        let end = set.next_missing(first).unwrap_or(set.len());
        visit(first, end - first);
        from = end;
    }
}

/// Cuts a run of indices into boxes: as few as the grid allows.
fn boxes_of_run(grid: &Grid, first: u64, length: u64, boxes: &mut Vec<GridBox>) {
    let (mut from, end) = (first, first + length);
    while from < end {
        let begin = grid.position(from);
        // The slowest axis along which whole layers can be taken from here on.
        let axis = (0..grid.dims())
            .find(|axis| from % grid.stride(*axis) == 0 && end - from >= grid.stride(*axis))
            .unwrap_or(grid.dims() - 1);
        let layers = ((end - from) / grid.stride(axis)).min(grid.shape()[axis] - begin[axis]);
        let mut stop = [0; MAX_DIMS];
        for other in 0..grid.dims() {
            stop[other] = match other.cmp(&axis) {
                std::cmp::Ordering::Less => begin[other] + 1,
                std::cmp::Ordering::Equal => begin[other] + layers,
                std::cmp::Ordering::Greater => grid.shape()[other],
            };
        }
        boxes.push(GridBox::new(grid.dims(), begin, stop));
        from += layers * grid.stride(axis);
    }
}

/// A box less an inner one, as at most two slabs per axis.
fn slabs(outer: &GridBox, inner: &GridBox) -> Vec<GridBox> {
    if inner.is_empty() {
        return vec![*outer];
    }
    let (mut rest, mut slabs) = (*outer, Vec::new());
    for axis in 0..outer.dims() {
        let (mut below, mut above) = (rest, rest);
        below.end[axis] = inner.begin[axis];
        above.begin[axis] = inner.end[axis];
        slabs.extend([below, above].into_iter().filter(|slab| !slab.is_empty()));
        rest.begin[axis] = inner.begin[axis];
        rest.end[axis] = inner.end[axis];
    }
    slabs
}
