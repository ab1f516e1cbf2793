"""Order without running: for inspection, and for loops of one's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from daisy import _core
from daisy._pipeline import PipelineLike, as_pipeline

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

    from daisy._task import Task


class Scheduler(_core.Scheduler):
    """Hands out blocks in an order in which no block reads what another is writing.

    Args:
        pipeline: A pipeline, a task, or a list of tasks.
        count_all_orphans: Not used: all are counted (daisy 1.x).

    >>> import daisy
    >>> roi, block = daisy.Roi((0,), (20,)), daisy.Roi((0,), (10,))
    >>> scheduler = daisy.Scheduler(daisy.Task("copy", roi, block, block, lambda block: None))
    >>> first = scheduler.acquire_block("copy")
    >>> first.status = daisy.BlockStatus.SUCCESS
    >>> scheduler.release_block(first)
    >>> scheduler.task_states["copy"].completed_count, scheduler.ready_tasks()
    (1, ['copy'])
    """

    def __new__(cls, pipeline: PipelineLike, count_all_orphans: bool = True) -> Self:
        """A scheduler with nothing done; ``count_all_orphans`` of daisy 1.x is always true."""
        return cast("Self", super().__new__(cls, as_pipeline(pipeline).plan()))


class DependencyGraph(_core.DependencyGraph):
    """The blocks of a pipeline, and which waits for which.

    Args:
        pipeline: A pipeline, a task, or a list of tasks.

    >>> import daisy
    >>> roi, block = daisy.Roi((0,), (20,)), daisy.Roi((0,), (10,))
    >>> graph = daisy.DependencyGraph(daisy.Task("copy", roi, block, block, lambda block: None))
    >>> graph.task_ids, graph.num_roots("copy"), graph.num_blocks("copy")
    (['copy'], 2, 2)
    >>> graph.root_tasks(), [name for name, blocks in graph.roots()]
    (['copy'], ['copy'])
    >>> first = next(graph.root_gen("copy"))
    >>> graph.upstream(first), graph.downstream(first)
    ([], [])
    """

    _tasks: dict[str, Task]

    def __new__(cls, pipeline: PipelineLike) -> Self:
        """The graph of this pipeline."""
        whole = as_pipeline(pipeline)
        graph = cast("Self", super().__new__(cls, whole.plan()))
        graph._tasks = {task.task_id: task for task in whole.tasks}
        return graph

    def num_roots(self, task_id: str) -> int:
        """How many blocks of a task wait for no other block of it.

        Args:
            task_id: Name of the task.

        Returns:
            The number.

        Raises:
            ValueError: There is no such task.
        """
        return self._of_task(task_id).num_roots()

    def root_gen(self, task_id: str) -> Iterator[_core.Block]:
        """The blocks of a task that wait for no other block of it.

        Args:
            task_id: Name of the task.

        Returns:
            One block after the other.

        Raises:
            ValueError: There is no such task.
        """
        return self._of_task(task_id).root_gen()

    def _of_task(self, task_id: str) -> _core.BlockwiseDependencyGraph:
        if task_id not in self._tasks:
            raise ValueError(
                f"argument 'task_id': expected one of {sorted(self._tasks)}, got {task_id!r}"
            )
        task = self._tasks[task_id]
        return _core.BlockwiseDependencyGraph(
            task_id,
            task.read_roi,
            task.write_roi,
            task.read_write_conflict,
            task.fit,
            task.total_roi,
        )


Scheduler.__module__ = "daisy"
DependencyGraph.__module__ = "daisy"
