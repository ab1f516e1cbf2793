"""Observers of daisy 1.x, which hear of single blocks, on top of the counts that a run shows."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from daisy._context import Context

if TYPE_CHECKING:
    from daisy import _core
    from daisy._progress import States

_MOST_FAILURES = 10_000


class BlockFailure(RuntimeError):
    """Why an attempt of a block failed: the text of the worker's traceback."""


class FormerObservers:
    """An observer of today that tells observers of daisy 1.x.

    They hear ``on_task_start``, ``on_acquire_block`` and ``on_release_block`` (once a block), ``on_task_done``,
    all with task id and state, ``on_block_failure(block, exception, context)`` and ``on_server_exit()``. They
    are told from the thread of observers, up to half a second late, so that they cannot slow a run.

    Args:
        observers: Those of daisy 1.x.
        other: An observer of today that hears the same run, or None.
    """

    def __init__(self, observers: Sequence[Any], other: object | None) -> None:
        self._observers = tuple(observers)
        self._other = other
        self._started: set[str] = set()
        self._done: set[str] = set()
        self._acquired: Counter[str] = Counter()
        self._released: Counter[str] = Counter()
        self._failures: deque[tuple[_core.Block, str, int]] = deque(maxlen=_MOST_FAILURES)

    def note_failure(self, block: _core.Block, error: str, worker: int) -> None:
        """Keep a failure until observers are told next."""
        self._failures.append((block, error, worker))

    def on_start(self, states: States) -> None:
        """Begin."""
        self._tell_other("on_start", states)

    def on_progress(self, states: States) -> None:
        """Tell what has changed."""
        for task_id, state in states.items():
            self._tell_of_task(task_id, state)
        while self._failures:
            block, error, worker = self._failures.popleft()
            context = Context(task_id=str(block.task_id), worker_id=str(worker))
            self._tell("on_block_failure", block, BlockFailure(error), context)
        self._tell_other("on_progress", states)

    def on_finish(self, states: States) -> None:
        """Tell the rest, and that it is over."""
        self.on_progress(states)
        self._tell("on_server_exit")
        self._tell_other("on_finish", states)

    def _tell_of_task(self, task_id: str, state: _core.TaskState) -> None:
        if state.started and task_id not in self._started:
            self._started.add(task_id)
            self._tell("on_task_start", task_id, state)
        acquired = state.blocks_processed + state.processing_count
        self._repeat("on_acquire_block", self._acquired, acquired, task_id, state)
        self._repeat("on_release_block", self._released, state.blocks_processed, task_id, state)
        if state.is_done() and task_id not in self._done:
            self._done.add(task_id)
            self._tell("on_task_done", task_id, state)

    def _repeat(
        self, event: str, told: Counter[str], count: int, task_id: str, state: _core.TaskState
    ) -> None:
        for _ in range(count - told[task_id]):
            self._tell(event, task_id, state)
        told[task_id] = max(told[task_id], count)

    def _tell(self, event: str, *values: object) -> None:
        for observer in self._observers:
            method = getattr(observer, event, None)
            if method is not None:
                method(*values)

    def _tell_other(self, event: str, states: States) -> None:
        method = getattr(self._other, event, None)
        if method is not None:
            method(states)
