"""What a run would do, without running it."""

from __future__ import annotations

from dataclasses import dataclass, field

from daisy import _core
from daisy._pipeline import Pipeline, PipelineLike, as_pipeline

_FIRST_BLOCKS = 3


@dataclass(frozen=True)
class TaskForecast:
    """What would happen in one task.

    Attributes:
        task_id: Name of the task.
        blocks: How many blocks.
        block_grid_shape: Blocks per axis.
        levels: Groups of blocks that can never conflict.
        parallelism: Most blocks that can run at once.
        read_per_write: Voxels read for each voxel written, of a whole block.
        first_blocks: The first blocks.
    """

    task_id: str
    blocks: int
    block_grid_shape: list[int]
    levels: int
    parallelism: int
    read_per_write: float
    first_blocks: list[_core.Block]


@dataclass(frozen=True)
class Forecast:
    """What would happen in a run; ``print`` it for a table.

    Attributes:
        tasks: One entry per task, in the order in which data flows.
        warnings: What is legal but may not be meant.
    """

    tasks: list[TaskForecast]
    warnings: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [
            f"{'task':<20} {'blocks':>12} {'levels':>8} {'parallel':>12} {'read/write':>10}  grid"
        ]
        for task in self.tasks:
            grid = " × ".join(map(str, task.block_grid_shape))
            lines.append(
                f"{task.task_id:<20} {task.blocks:>12} {task.levels:>8} {task.parallelism:>12} "
                f"{task.read_per_write:>10.2f}  {grid}"
            )
            lines += [
                f"    first: block {block.block_id[1]} writes {block.write_roi}"
                for block in task.first_blocks[:1]
            ]
        return "\n".join(lines + [f"warning: {warning}" for warning in self.warnings])


def plan(pipeline: PipelineLike) -> Forecast:
    """What a run of ``pipeline`` would do, without running it.

    Args:
        pipeline: A pipeline, a task, or a list of tasks.

    Returns:
        Blocks, levels, parallelism and the first blocks of each task, and what may not be meant; ``print`` it.

    Raises:
        ValueError: If the pipeline could not run: duplicate names, ranks that differ, a cycle.

    >>> import daisy
    >>> roi, block = daisy.Roi((0,), (100,)), daisy.Roi((0,), (10,))
    >>> daisy.plan(daisy.Task("copy", roi, block, block, lambda block: None)).tasks[0].blocks
    10
    """
    whole = as_pipeline(pipeline)
    core = whole.plan()
    facts = _core.task_facts(core)
    order = core.order()
    tasks = [_forecast(whole, position, facts[position]) for position in order]
    return Forecast(
        tasks, [text for position in order for text in _warnings(whole, position, facts[position])]
    )


def _forecast(pipeline: Pipeline, position: int, facts: _core.TaskFacts) -> TaskForecast:
    task = pipeline.tasks[position]
    graph = _core.BlockwiseDependencyGraph(
        task.task_id,
        task.read_roi,
        task.write_roi,
        task.read_write_conflict,
        task.fit,
        total_read_roi=task.total_roi,
    )
    first = [block for block, _ in zip(graph.root_gen(), range(_FIRST_BLOCKS), strict=False)]
    return TaskForecast(
        task.task_id,
        facts.blocks,
        facts.block_grid_shape,
        facts.levels,
        facts.parallelism,
        facts.read_per_write,
        first,
    )


def _warnings(pipeline: Pipeline, position: int, facts: _core.TaskFacts) -> list[str]:
    task = pipeline.tasks[position]
    texts = []
    if facts.blocks == 0:
        texts.append(f"task {task.task_id!r} has no blocks")
    for upstream, blocks in facts.uncovered:
        texts.append(
            f"{blocks} blocks of task {task.task_id!r} read nothing that task "
            f"{pipeline.tasks[upstream].task_id!r} writes; they do not wait for it"
        )
    return texts
