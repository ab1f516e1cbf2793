"""The tracking stores and masks of a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from daisy import _core, _tracking, logging

if TYPE_CHECKING:
    from daisy._task import Task


@contextmanager
def open_stores(
    tasks: Sequence[Task], *, enabled: bool
) -> Iterator[list[_core.TrackingStore | None]]:
    """The stores of a run, an entry per task; locked until the run, or this context, is done with them.

    Raises:
        StoreError, StoreMismatch, StoreLocked: A store that cannot be used; all others are released.
        ValueError: Two tasks of one store.
    """
    paths = [_tracking.resolve(task) if enabled else None for task in tasks]
    _refuse_shared(tasks, paths)
    host = _tracking.host_name()
    with ExitStack() as opened:
        stores: list[_core.TrackingStore | None] = []
        for task, path in zip(tasks, paths, strict=True):
            if path is None:
                stores.append(None)
                continue
            store = _core.TrackingStore(path, task._plan, host, task.resource_tracking)
            # Without effect on a store that a run has taken over.
            opened.callback(store.close)
            for notice in store.notices:
                logging.logger.warning("%s", notice)
            stores.append(store)
        yield stores


def _refuse_shared(tasks: Sequence[Task], paths: Sequence[Path | None]) -> None:
    users: dict[Path, Task] = {}
    for task, path in zip(tasks, paths, strict=True):
        if path is None:
            continue
        first = users.setdefault(path.resolve(), task)
        if first is not task:
            raise ValueError(
                f"tasks {first.task_id!r} and {task.task_id!r} have the same tracking_path {str(path)!r}; "
                "expected one store for each task"
            )
