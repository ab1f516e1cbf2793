"""Where tracking stores are, and what a task asks of its own."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from daisy import _core
from daisy._task_arguments import refuse

if TYPE_CHECKING:
    from daisy._task import Task

_basedir: Path | None = None


def set_tracking_basedir(path: str | os.PathLike[str] | None) -> None:
    """Keep the tracking stores of tasks under ``path``, one folder a task; None for none.

    Tasks whose ``tracking_path`` is not given use ``<path>/<task_id>``.

    Args:
        path: The folder; it is made when a run needs it.

    >>> import daisy
    >>> daisy.set_tracking_basedir("done")
    >>> daisy.get_tracking_basedir().name
    'done'
    >>> daisy.set_tracking_basedir(None)
    """
    global _basedir  # noqa: PLW0603 - a setting of the process, as in daisy 2.0.0
    _basedir = None if path is None else Path(path)


def get_tracking_basedir() -> Path | None:
    """The folder of ``set_tracking_basedir``, or None.

    >>> import daisy
    >>> print(daisy.get_tracking_basedir())
    None
    """
    return _basedir


def path_argument(
    tracking_path: str | os.PathLike[str] | Literal[False] | None,
    done_marker_path: str | os.PathLike[str] | Literal[False] | None,
) -> str | Literal[False] | None:
    """The one of both that is given, checked."""
    argument, value = "tracking_path", tracking_path
    if done_marker_path is not None:
        if tracking_path is not None:
            raise TypeError(
                "arguments 'tracking_path' and 'done_marker_path' are two names of one thing: pass "
                "tracking_path only"
            )
        argument, value = "done_marker_path", done_marker_path
        warnings.warn("done_marker_path= is now tracking_path=", DeprecationWarning, stacklevel=4)
    if value is None or value is False:
        return value
    given: object = value
    if not isinstance(given, str | os.PathLike):
        refuse(TypeError, argument, given, "a path, None (default) or False (off)")
    if not os.fspath(value):
        refuse(ValueError, argument, value, "a path that is not empty")
    return os.fspath(value)


def resolve(task: Task) -> Path | None:
    """Where the store of a task is, or None if it has none."""
    if task.tracking_path is False:
        return None
    if task.tracking_path is not None:
        return Path(task.tracking_path)
    # A task_id is one path component, so the store cannot be outside the basedir.
    return None if _basedir is None else _basedir / task.task_id


def is_begun(task: Task) -> bool:
    """Whether an earlier run left a store of this task, so that there may be nothing left to do."""
    path = resolve(task)
    return path is not None and path.exists()


def host_name() -> str:
    """The name of this machine, by which locks name it."""
    import socket  # noqa: PLC0415 - not needed to import daisy

    return socket.gethostname()


def reset(task: Task) -> Path | None:
    """Delete the store of a task, and nothing that is not part of it.

    Raises:
        StoreError: Something else lies at its path.
        StoreLocked: A run is using it.
    """
    path = resolve(task)
    if path is not None:
        _core.reset_tracking(path, host_name())
    return path


def failed_blocks(task: Task) -> list[_core.Block]:
    """Blocks that failed and are not done."""
    path = resolve(task)
    if path is None:
        return []
    plan = task._plan
    return [plan.block_at(index) for index in _core.failed_block_indices(path, plan)]
