"""Tasks, and which reads what which writes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

from daisy import _core
from daisy._task import Task

if TYPE_CHECKING:
    from daisy._result import RunResult

Edge: TypeAlias = tuple[Task, Task]


class Pipeline:
    """A directed acyclic graph of tasks.

    ``a + b`` runs every source of ``b`` after every output of ``a``, block by block; ``a | b`` runs both
    beside each other.

    Args:
        tasks: The tasks.
        edges: Pairs ``(upstream, downstream)``.

    Raises:
        ValueError: A task that is given twice, or an edge to a task that is not given.
        TypeError: Something that is not a task.

    >>> import daisy
    >>> roi = daisy.Roi((0,), (10,))
    >>> a, b, c = (daisy.Task(name, roi, roi, roi, lambda block: None) for name in "abc")
    >>> pipeline = a + (b | c)
    >>> [task.task_id for task in pipeline.outputs]
    ['b', 'c']
    >>> result = pipeline.run_blockwise(multiprocessing=False, progress=False, summary=False)
    >>> bool(result), list(result.states)
    (True, ['a', 'b', 'c'])
    >>> pipeline.plan().order()
    [0, 1, 2]
    >>> pipeline.reset()  # no task of it remembers which blocks are done
    >>> len(daisy.Pipeline.from_task(a)), len(daisy.Pipeline.from_tasks([a, b]))
    (1, 2)
    """

    def __init__(
        self, tasks: Iterable[Task] | None = None, edges: Iterable[Edge] | None = None
    ) -> None:
        self._tasks = list(tasks or [])
        for task in self._tasks:
            _require_task(task, "tasks")
        known = {id(task) for task in self._tasks}
        if len(known) < len(self._tasks):
            names = [task.task_id for task in self._tasks]
            raise ValueError(f"argument 'tasks': expected each task once, got {names}")
        # A dict and not a set, so that edges keep their order.
        self._edges: dict[tuple[int, int], Edge] = {}
        for edge in edges or []:
            upstream, downstream = _require_edge(edge)
            if id(upstream) not in known or id(downstream) not in known:
                raise ValueError(
                    "argument 'edges': expected edges between tasks of the pipeline, got "
                    f"{upstream.task_id!r} -> {downstream.task_id!r}"
                )
            self._edges[id(upstream), id(downstream)] = (upstream, downstream)

    @classmethod
    def from_task(cls, task: Task) -> Pipeline:
        """The task with everything it names as ``upstream_tasks``.

        Args:
            task: The task.

        Returns:
            A pipeline that ends with it.
        """
        _require_task(task, "task")
        return cls.from_tasks([task])

    @classmethod
    def from_tasks(cls, tasks: Iterable[Task]) -> Pipeline:
        """The tasks with everything they name as ``upstream_tasks``, however deep.

        Args:
            tasks: The tasks.

        Returns:
            The pipeline.
        """
        found: dict[int, Task] = {}
        edges: list[Edge] = []
        waiting = list(tasks)
        waiting.reverse()
        while waiting:
            task = waiting.pop()
            _require_task(task, "tasks")
            if id(task) in found:
                continue
            found[id(task)] = task
            edges.extend((upstream, task) for upstream in task._upstream_tasks)
            waiting.extend(reversed(task._upstream_tasks))
        return cls(found.values(), edges)

    @property
    def tasks(self) -> list[Task]:
        """The tasks."""
        return list(self._tasks)

    @property
    def edges(self) -> list[Edge]:
        """Pairs ``(upstream, downstream)``."""
        return list(self._edges.values())

    @property
    def sources(self) -> list[Task]:
        """The tasks that read from no other."""
        downstream = {key[1] for key in self._edges}
        return [task for task in self._tasks if id(task) not in downstream]

    @property
    def outputs(self) -> list[Task]:
        """The tasks that no other reads from."""
        upstream = {key[0] for key in self._edges}
        return [task for task in self._tasks if id(task) not in upstream]

    def __add__(self, other: object) -> Pipeline:
        """Every output of this one, then every source of ``other``."""
        if not isinstance(other, Task | Pipeline):
            return NotImplemented
        other = as_pipeline(other)
        joint = [(up, down) for up in self.outputs for down in other.sources]
        return self._with(other, joint)

    def __radd__(self, other: object) -> Pipeline:
        """A task, then this one."""
        return NotImplemented if not isinstance(other, Task) else Pipeline.from_task(other) + self

    def __or__(self, other: object) -> Pipeline:
        """Both beside each other; tasks that are in both are there once."""
        if not isinstance(other, Task | Pipeline):
            return NotImplemented
        return self._with(as_pipeline(other), [])

    def __ror__(self, other: object) -> Pipeline:
        """A task beside this one."""
        return NotImplemented if not isinstance(other, Task) else Pipeline.from_task(other) | self

    def _with(self, other: Pipeline, joint: list[Edge]) -> Pipeline:
        tasks = {id(task): task for task in [*self._tasks, *other._tasks]}
        return Pipeline(tasks.values(), [*self._edges.values(), *other._edges.values(), *joint])

    def reset(self) -> None:
        """Forget which blocks are done: delete the tracking store of each task."""
        for task in self._tasks:
            task.reset()

    def run_blockwise(self, **options: Any) -> RunResult | dict[str, _core.TaskState]:
        """Run it; takes the keywords of :func:`daisy.run_blockwise`."""
        from daisy._run import run_blockwise  # noqa: PLC0415 - running is a floor above

        result: RunResult | dict[str, _core.TaskState] = run_blockwise(self, **options)
        return result

    def plan(self) -> _core.PipelinePlan:
        """The pipeline as the core has it.

        Raises:
            ValueError: Two tasks of one name, tasks of different rank along an edge, or a cycle.
        """
        place = {id(task): position for position, task in enumerate(self._tasks)}
        edges = [(place[up], place[down]) for up, down in self._edges]
        return _core.PipelinePlan([task._plan for task in self._tasks], edges)

    def __len__(self) -> int:
        return len(self._tasks)

    def __repr__(self) -> str:
        names = ", ".join(task.task_id for task in self._tasks[:10])
        more = ", …" if len(self._tasks) > 10 else ""
        return f"<daisy.Pipeline of {len(self._tasks)} tasks: {names}{more}>"


Pipeline.__module__ = "daisy"

PipelineLike: TypeAlias = Pipeline | Task | Iterable[Task]


def as_pipeline(tasks: PipelineLike) -> Pipeline:
    """A pipeline of what users pass: one, a task, or tasks that name their ``upstream_tasks``."""
    if isinstance(tasks, Pipeline):
        return tasks
    if isinstance(tasks, Task):
        return Pipeline.from_task(tasks)
    if isinstance(tasks, str | bytes | dict) or not isinstance(tasks, Iterable):
        raise TypeError(
            f"argument 'pipeline': expected a daisy.Pipeline, a daisy.Task or a list of tasks, "
            f"got {tasks!r} ({type(tasks).__name__})"
        )
    return Pipeline.from_tasks(tasks)


def _require_task(task: object, argument: str) -> None:
    if not isinstance(task, Task):
        raise TypeError(
            f"argument '{argument}': expected a daisy.Task, got {task!r} ({type(task).__name__})"
        )


def _require_edge(edge: object) -> Edge:
    if not isinstance(edge, tuple | list) or len(edge) != 2:
        raise TypeError(
            f"argument 'edges': expected pairs (upstream task, downstream task), got {edge!r}"
        )
    upstream, downstream = edge
    _require_task(upstream, "edges")
    _require_task(downstream, "edges")
    return upstream, downstream
