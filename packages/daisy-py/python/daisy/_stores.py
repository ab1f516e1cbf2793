"""The tracking stores and masks of a run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daisy import _core, _tracking, logging
from daisy._report.facts import settings_of

if TYPE_CHECKING:
    from daisy._task import Task


@contextmanager
def open_stores(
    tasks: Sequence[Task],
    masks: Sequence[bytes | None],
    settings: Mapping[str, Any],
    *,
    enabled: bool,
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
        for task, path, mask in zip(tasks, paths, masks, strict=True):
            if path is None:
                stores.append(None)
                continue
            # Kept for reports of runs that leave none: what was asked for, and of which task.
            asked = json.dumps({"run": settings, "task": settings_of([task])[task.task_id][1]})
            store = _core.TrackingStore(path, task._plan, host, task.resource_tracking, asked, mask)
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
