"""Spellings of daisy 1.x and former names of 2.0.0: each works, and says once what to write instead."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from daisy._pipeline import PipelineLike
from daisy._progress import FormerObservers


def warn(former: str, instead: str, *, stacklevel: int = 3) -> None:
    """Warn, at the caller's line, of a former spelling."""
    warnings.warn(f"{former} is now {instead}", DeprecationWarning, stacklevel=stacklevel)


def apply_former_arguments(former: dict[str, Any], max_workers: int) -> int:
    """Take ``num_workers`` and ``upstream_tasks`` of ``Task``; returns the number of workers."""
    from daisy._task import Task  # noqa: PLC0415 - the class that calls this

    known = {"num_workers", "upstream_tasks", "init_callback_fn"}
    unknown = sorted(set(former) - known)
    if unknown:
        raise TypeError(f"Task() got an unexpected keyword argument {unknown[0]!r}")
    if "num_workers" in former:
        if max_workers != 1:
            raise TypeError(
                "arguments 'num_workers' and 'max_workers' are two names of one thing: pass max_workers only"
            )
        warn("Task(num_workers=...)", "Task(max_workers=...)", stacklevel=4)
        max_workers = former["num_workers"]
    upstream = former.get("upstream_tasks")
    if upstream is not None:
        warn("Task(upstream_tasks=[a, b])", "a pipeline: (a | b) + task", stacklevel=4)
        former["upstream_tasks"] = upstream = list(upstream)
        for other in upstream:
            if not isinstance(other, Task):
                raise TypeError(f"argument 'upstream_tasks': expected daisy.Task, got {other!r}")
    if former.get("init_callback_fn") is not None:
        warn(
            "Task(init_callback_fn=...)", "a launcher, or code in the worker function", stacklevel=4
        )
    return max_workers


class ServerObserver:
    """Hears of a run in daisy 1.x; override what you need and pass it to ``Server.register_observer``."""

    def __init__(self, server: Any = None) -> None:
        if server is not None:
            server.register_observer(self)

    def on_task_start(self, task_id: str, task_state: Any) -> None:
        """A task begins."""

    def on_acquire_block(self, task_id: str, task_state: Any) -> None:
        """Blocks of a task were given out; told at most twice a second."""

    def on_release_block(self, task_id: str, task_state: Any) -> None:
        """Blocks of a task came back; told at most twice a second."""

    def on_block_failure(self, block: Any, exception: Any, context: Any) -> None:
        """Not called any more: failures are in the result of the run."""

    def on_task_done(self, task_id: str, task_state: Any) -> None:
        """A task has ended."""

    def on_server_exit(self) -> None:
        """The run has ended."""


class SerialServer:
    """``SerialServer`` of daisy 1.x: ``run_blockwise(multiprocessing=False)``."""

    def __init__(self) -> None:
        warn("SerialServer()", "run_blockwise(multiprocessing=False)")
        self._observers: list[Any] = []

    def run_blockwise(self, tasks: PipelineLike, block_tracking: bool = True, **_: Any) -> Any:
        """Run in this process and return the states by task."""
        from daisy._run import run_blockwise  # noqa: PLC0415 - a floor below

        return run_blockwise(
            tasks,
            multiprocessing=False,
            progress=FormerObservers(self._observers) if self._observers else False,
            summary=False,
            block_tracking=block_tracking,
            return_states=True,
        )

    def register_observer(self, observer: object) -> None:
        """Tell an observer of daisy 1.x of runs to come."""
        self._observers.append(observer)


def _set_done_marker_basedir(path: str | Path | None) -> None:
    """Former name of ``set_tracking_basedir``."""
    from daisy._tracking import set_tracking_basedir  # noqa: PLC0415

    warn("set_done_marker_basedir()", "set_tracking_basedir()")
    set_tracking_basedir(path)


def _get_done_marker_basedir() -> Path | None:
    """Former name of ``get_tracking_basedir``."""
    from daisy._tracking import get_tracking_basedir  # noqa: PLC0415

    warn("get_done_marker_basedir()", "get_tracking_basedir()")
    return get_tracking_basedir()


def expand_roi_to_grid(sub_roi: Any, total_roi: Any, read_roi: Any, write_roi: Any) -> Any:
    """Grow ``sub_roi`` so that it holds whole blocks of the grid, context included (daisy 1.x)."""
    offset = write_roi.begin - read_roi.begin + total_roi.begin
    return ((sub_roi - offset).snap_to_grid(write_roi.shape, mode="grow") + offset).grow(
        write_roi.begin - read_roi.begin, read_roi.end - write_roi.end
    )


def expand_write_roi_to_grid(roi: Any, write_roi: Any) -> Any:
    """Grow ``roi`` so that it holds whole blocks of the grid (daisy 1.x)."""
    return (roi - write_roi.begin).snap_to_grid(write_roi.shape, mode="grow") + write_roi.begin


def redirect_stdouterr(basename: str | Path, mode: str = "w") -> None:
    """Send this process's output to ``<basename>.out`` and ``.err`` (daisy 1.x)."""
    path = Path(basename)
    path.parent.mkdir(parents=True, exist_ok=True)
    # These stay open as long as the process: they are its output.
    sys.stdout = open(f"{path}.out", mode, encoding="utf-8", buffering=1)
    sys.stderr = open(f"{path}.err", mode, encoding="utf-8", buffering=1)


class Worker:
    """A worker thread of daisy 1.x; ``Task(launcher=...)`` starts workers now.

    Args:
        spawn_function: Called without arguments in a thread of its own.
    """

    def __init__(self, spawn_function: Callable[[], Any], *_: Any, **__: Any) -> None:
        warn("Worker()", "Task(launcher=...)")
        self.spawn_function = spawn_function


class WorkerPool:
    """A pool of daisy 1.x; ``Task(max_workers=...)`` says how many workers a task has now."""

    def __init__(self, *_: Any, **__: Any) -> None:
        warn("WorkerPool()", "Task(max_workers=...)")


_FORMER: dict[str, Any] = {
    "SerialServer": SerialServer,
    "Worker": Worker,
    "WorkerPool": WorkerPool,
    "expand_roi_to_grid": expand_roi_to_grid,
    "expand_write_roi_to_grid": expand_write_roi_to_grid,
    "get_done_marker_basedir": _get_done_marker_basedir,
    "redirect_stdouterr": redirect_stdouterr,
    "set_done_marker_basedir": _set_done_marker_basedir,
}


def former_name(name: str) -> Any:
    """What ``daisy.<name>`` was in daisy 1.x or 2.0.0."""
    return _FORMER[name]
