"""What a run came to."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from daisy import _core
from daisy._errors import RunFailed
from daisy._stats import RunStats

if TYPE_CHECKING:
    from daisy.launchers import Handle


@dataclass(frozen=True)
class ErrorGroup:
    """Failed attempts with the same error.

    Attributes:
        task_id: Name of the task.
        summary: The exception, one line.
        count: How many attempts failed with it.
        traceback: The first one, shortened.
        block_ids: Some of the blocks.
    """

    task_id: str
    summary: str
    count: int
    traceback: str
    block_ids: tuple[tuple[str, int], ...]


class BlockIds(Sequence[tuple[str, int]]):
    """Block ids of several tasks, made when they are asked for."""

    def __init__(self, sets: Sequence[tuple[str, _core.IdSet]]) -> None:
        self._sets = sets

    def __len__(self) -> int:
        return sum(len(ids) for _, ids in self._sets)

    def __iter__(self) -> Iterator[tuple[str, int]]:
        for task_id, ids in self._sets:
            for number in ids:
                yield task_id, number

    @overload
    def __getitem__(self, index: int) -> tuple[str, int]: ...
    @overload
    def __getitem__(self, index: slice) -> list[tuple[str, int]]: ...
    def __getitem__(self, index: int | slice) -> tuple[str, int] | list[tuple[str, int]]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        place = index + len(self) if index < 0 else index
        for task_id, ids in self._sets:
            if 0 <= place < len(ids):
                return task_id, ids.at(place)
            place -= len(ids)
        raise IndexError(f"there are {len(self)} block ids, got index {index}")

    def __contains__(self, item: object) -> bool:
        if not isinstance(item, tuple) or len(item) != 2:
            return False
        task_id, number = item
        return any(
            name == task_id and isinstance(number, int) and number in ids
            for name, ids in self._sets
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self[:5]))
        more = f", … {len(self) - 5} more" if len(self) > 5 else ""
        return f"[{shown}{more}]"


class RunResult:
    """What a run came to: true only if every block of every task is done.

    It takes the place of the boolean of daisy 2.0.0: ``if result``, ``result == True`` work as before.

    Attributes:
        states: The final :class:`daisy.TaskState` of each task, by name, in the order in which data flows.
        cancelled: Whether the run was interrupted.
        wall_seconds: How long it took.
        ended: When it ended.
        jobs: A :class:`daisy.launchers.Handle` of each worker that an engine was asked for.
        jobs_left: Those of them that may live on, since the engine did not answer when they were to be cancelled.

    >>> import daisy
    >>> def function(block):
    ...     if block.block_id[1] == 2:
    ...         raise ValueError("a bad block")
    >>> total, cell = daisy.Roi((0,), (40,)), daisy.Roi((0,), (10,))
    >>> task = daisy.Task("copy", total, cell, cell, function, max_retries=0, worker_processes=False)
    >>> result = daisy.run_blockwise(task, progress=False, summary=False)
    >>> bool(result), result.failed, result.errors[0].summary
    (False, [('copy', 2)], 'ValueError: a bad block')
    >>> result.raise_for_failures()
    Traceback (most recent call last):
    daisy.errors.RunFailed: task 'copy': 1 failed, 0 orphaned of 4 blocks
      1 × ValueError: a bad block
    >>> result.save_json("run.json")
    >>> result.report()["schema"]
    'daisy-report/1'
    """

    def __init__(
        self,
        outcome: _core.RunOutcome,
        *,
        wall_seconds: float = 0.0,
        tasks: Mapping[str, tuple[int, dict[str, Any]]] | None = None,
        settings: Mapping[str, Any] | None = None,
        jobs: Sequence[Handle] = (),
        jobs_left: Sequence[Handle] = (),
    ) -> None:
        self._outcome = outcome
        self.states: dict[str, _core.TaskState] = dict(outcome.states)
        self.cancelled = outcome.cancelled
        self.wall_seconds = wall_seconds
        self.ended = datetime.now(UTC)
        # Position and settings of each task, and settings of the run, for the report.
        self._tasks = dict(tasks or {})
        self._settings = dict(settings or {})
        self.jobs = tuple(jobs)
        self.jobs_left = tuple(jobs_left)

    def __bool__(self) -> bool:
        return self._outcome.has_succeeded

    def __eq__(self, other: object) -> bool:
        if isinstance(other, bool):
            return bool(self) is other
        return self is other

    def __hash__(self) -> int:
        return id(self)

    @cached_property
    def _facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = json.loads(self._outcome.stats())
        return facts

    @cached_property
    def stats(self) -> RunStats:
        """What was counted and measured, per task and per worker."""
        return RunStats.of(self._facts)

    @property
    def tracking_summary(self) -> dict[str, Any]:
        """What was measured, in the form of ``Server.last_tracking_summary`` of daisy 2.0.0."""
        return self.stats.as_tracking_summary()

    def report(self) -> dict[str, Any]:
        """Everything that is known of the run, as a dictionary that can be written as JSON."""
        from daisy._report import build  # noqa: PLC0415 - most runs are not reported

        return build(self)

    def save_json(self, path: str | os.PathLike[str]) -> None:
        """Write :meth:`report` to a file, of which ``daisy report`` makes a page.

        Args:
            path: The file; it is replaced if it is there.

        Raises:
            OSError: It cannot be written.
        """
        from daisy._report import to_json  # noqa: PLC0415

        Path(path).write_text(to_json(self), "utf-8")

    def save_html(self, path: str | os.PathLike[str]) -> None:
        """Write the report as one page that needs no network: states, throughput, times, workers, blocks, errors.

        Args:
            path: The file; it is replaced if it is there.

        Raises:
            OSError: It cannot be written.
            ImportError: Plotly is not installed; it comes with ``daisy-py[report]``.
        """
        from daisy._report import to_html  # noqa: PLC0415

        Path(path).write_text(to_html(self.report()), "utf-8")

    @property
    def failed(self) -> BlockIds:
        """Ids of the blocks of which every attempt failed."""
        return BlockIds(self._outcome.failed())

    @property
    def orphaned(self) -> BlockIds:
        """Ids of the blocks that could not run, because one that they depend on failed."""
        return BlockIds(self._outcome.orphaned())

    @property
    def failed_ids(self) -> BlockIds:
        """Same as :attr:`failed`."""
        return self.failed

    @property
    def orphaned_ids(self) -> BlockIds:
        """Same as :attr:`orphaned`."""
        return self.orphaned

    @property
    def errors(self) -> list[ErrorGroup]:
        """The errors of attempts, grouped by their text."""
        return [ErrorGroup(*group[:4], tuple(group[4])) for group in self._outcome.errors()]

    def raise_for_failures(self) -> RunResult:
        """Return the result, or raise if it is false.

        Raises:
            RunFailed: With the counts and the first error of each task.
        """
        if self:
            return self
        raise RunFailed(self._describe_failures(), self)

    def _describe_failures(self) -> str:
        lines = []
        for task_id, state in self.states.items():
            bad = state.failed_count + state.orphaned_count
            if not bad and not state.abandoned and state.is_done():
                continue
            counts = (
                f"{state.failed_count} failed, {state.orphaned_count} orphaned of "
                f"{state.total_block_count} blocks"
            )
            lines.append(f"task {task_id!r}: {counts}")
            if state.abandon_reason:
                lines.append(f"  abandoned: {state.abandon_reason}")
            first = next((group for group in self.errors if group.task_id == task_id), None)
            if first is not None:
                lines.append(f"  {first.count} × {first.summary}")
        return "\n".join(lines) or "the run was interrupted"

    def __repr__(self) -> str:
        tasks = ", ".join(
            f"{task_id}: {state.completed_count}/{state.total_block_count}"
            for task_id, state in self.states.items()
        )
        return f"<daisy.RunResult {'succeeded' if self else 'failed'}: {tasks}>"


RunResult.__module__ = "daisy"
