"""The five stages as a pipeline of daisy tasks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, reduce
from operator import add

from daisy import Block, Coordinate, Pipeline, Roi, Task
from daisy.demo import stages
from daisy.demo.job import Job

BlockFunction = Callable[[Job, str, Block], None]


@dataclass(frozen=True)
class Fleet:
    """Who does the work.

    Attributes:
        workers: Workers of each stage.
        launcher: Name of the launcher that starts them.
    """

    workers: int
    launcher: str


def build(job: Job, run: str, fleet: Fleet) -> Pipeline:
    """Chain the stages: a block waits for those blocks of the stage before that it reads."""
    rank = len(job.world.shape)
    nothing, one, reach = (0,) * rank, (1,) * rank, (job.radius,) * rank
    tasks = [
        _task(job, run, fleet, stages.denoise, lower=reach, upper=reach),
        _task(job, run, fleet, stages.fragments, lower=nothing, upper=nothing),
        _task(job, run, fleet, stages.touches, lower=nothing, upper=one),
        _merge_task(job, run, fleet),
        _task(job, run, fleet, stages.relabel, lower=nothing, upper=nothing),
    ]
    return reduce(add, tasks, Pipeline())


def _task(
    job: Job,
    run: str,
    fleet: Fleet,
    function: BlockFunction,
    *,
    lower: tuple[int, ...],
    upper: tuple[int, ...],
) -> Task:
    """One stage over the whole volume; ``lower`` and ``upper`` are its halo in voxels.

    The total ROI of a task includes the halo: here it sticks out of the volume, so that the write
    ROIs tile the volume exactly, and each block function cuts what it reads at the edge.
    """
    world = job.world
    below, above = world.scale(lower), world.scale(upper)
    write = Roi(world.offset, world.scale(job.block_shape))
    return _make(job, run, fleet, function, world.roi.grow(below, above), write, below, above)


def _merge_task(job: Job, run: str, fleet: Fleet) -> Task:
    """A single block that reads the whole volume: it waits for all blocks of the stage before."""
    nothing = Coordinate((0,) * len(job.world.shape))
    alone = Fleet(workers=1, launcher=fleet.launcher)
    roi = job.world.roi
    return _make(job, run, alone, stages.merge, roi, roi, nothing, nothing)


def _make(
    job: Job,
    run: str,
    fleet: Fleet,
    function: BlockFunction,
    total: Roi,
    write: Roi,
    below: Coordinate,
    above: Coordinate,
) -> Task:
    stage = function.__name__
    return Task(
        stage,
        total_roi=total,
        read_roi=write.grow(below, above),
        write_roi=write,
        process_function=partial(function, job, run),
        # No stage reads the array it writes.
        read_write_conflict=False,
        fit="shrink",
        max_workers=fleet.workers,
        tracking_path=job.tracking(stage),
        launcher=fleet.launcher,
    )
