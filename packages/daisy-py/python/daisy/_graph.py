"""Order without running: for inspection, and for loops of one's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from daisy import _core
from daisy._pipeline import PipelineLike, as_pipeline

if TYPE_CHECKING:
    from typing import Self


class Scheduler(_core.Scheduler):
    """Hands out blocks in an order in which no block reads what another is writing.

    Args:
        pipeline: A pipeline, a task, or a list of tasks.

    >>> import daisy
    >>> roi, block = daisy.Roi((0,), (20,)), daisy.Roi((0,), (10,))
    >>> scheduler = daisy.Scheduler(daisy.Task("copy", roi, block, block, lambda block: None))
    >>> first = scheduler.acquire_block("copy")
    >>> first.status = daisy.BlockStatus.SUCCESS
    >>> scheduler.release_block(first)
    >>> scheduler.task_states["copy"].completed_count
    1
    """

    def __new__(cls, pipeline: PipelineLike, count_all_orphans: bool = True) -> Self:
        """A scheduler with nothing done; ``count_all_orphans`` of daisy 1.x is always true."""
        return cast("Self", super().__new__(cls, as_pipeline(pipeline).plan()))


class DependencyGraph(_core.DependencyGraph):
    """The blocks of a pipeline, and which waits for which.

    Args:
        pipeline: A pipeline, a task, or a list of tasks.
    """

    def __new__(cls, pipeline: PipelineLike) -> Self:
        """The graph of this pipeline."""
        return cast("Self", super().__new__(cls, as_pipeline(pipeline).plan()))


Scheduler.__module__ = "daisy"
DependencyGraph.__module__ = "daisy"
