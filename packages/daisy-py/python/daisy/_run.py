"""Running a pipeline."""

# See run_blockwise.
# ruff: noqa: PLC0415

from __future__ import annotations

import operator
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Literal, overload

from daisy import _task_arguments, _tracking
from daisy._functions import script
from daisy._pipeline import PipelineLike, as_pipeline
from daisy._settings import HOST_VARIABLE

if TYPE_CHECKING:
    from daisy import _core
    from daisy._result import RunResult
    from daisy.launchers import Launcher

Ports = int | range | tuple[int, int] | None


@overload
def run_blockwise(
    pipeline: PipelineLike,
    multiprocessing: bool = True,
    resources: Mapping[str, int] | None = None,
    progress: object = True,
    block_tracking: bool = True,
    return_states: Literal[False] = False,
    host: str | None = None,
    summary: bool = True,
    *,
    worker_processes: bool = True,
    port: Ports = None,
) -> RunResult: ...
@overload
def run_blockwise(
    pipeline: PipelineLike,
    multiprocessing: bool = True,
    resources: Mapping[str, int] | None = None,
    progress: object = True,
    block_tracking: bool = True,
    *,
    return_states: Literal[True],
    host: str | None = None,
    summary: bool = True,
    worker_processes: bool = True,
    port: Ports = None,
) -> dict[str, _core.TaskState]: ...
def run_blockwise(
    pipeline: PipelineLike,
    multiprocessing: bool = True,
    resources: Mapping[str, int] | None = None,
    progress: object = True,
    block_tracking: bool = True,
    return_states: bool = False,
    host: str | None = None,
    summary: bool = True,
    *,
    worker_processes: bool = True,
    port: Ports = None,
) -> RunResult | dict[str, _core.TaskState]:
    """Run every block of every task, in an order in which no block reads what another is writing.

    Args:
        pipeline: A pipeline, a task, or a list of tasks.
        multiprocessing: False to run all in this thread: exceptions come out as they are, debuggers work.
        resources: What all workers together may use of what tasks require, such as ``{"gpu": 2}``.
        progress: True for bars, False for none, an observer with ``on_start``, ``on_progress``, ``on_finish``, or the
            name of one: ``"bars"``, ``"lines"``, ``"json"``, or that of a plugin (entry points ``daisy.observers``).
        block_tracking: False to ignore tracking stores.
        return_states: True to return the states of the tasks by name instead of the result.
        host: Address, name or interface to listen on; this machine only if it is not given (or ``DAISY_HOST``).
        summary: Whether the execution summary is printed.
        worker_processes: False to run all workers as threads of this process.
        port: Port to listen on, or a range of them.

    Returns:
        A result that is true only if every block is done. What happened to blocks or workers is in it and is never
        raised; ``result.raise_for_failures()`` does that.

    Raises:
        TypeError, ValueError: A wrong argument, or tasks that do not fit together.
        SerializationError: A function that cannot be sent to a worker; no worker was started.
        AddressError: A host or port that cannot be listened on.
        StoreError: A tracking store that cannot be used. If it failed during the run, what was done until then is its
            attribute ``result``.
        KeyboardInterrupt: Ctrl-C; the result is its attribute ``daisy_result``.

    >>> import daisy
    >>> total, cell = daisy.Roi((0,), (40,)), daisy.Roi((0,), (10,))
    >>> task = daisy.Task("copy", total, cell, cell, lambda block: None, max_workers=2)
    >>> result = daisy.run_blockwise(task, progress=False, summary=False)
    >>> bool(result), result.states["copy"].completed_count
    (True, 4)
    """
    # A worker that imports the script anew must not run the pipeline again.
    script.stop_if_loading()
    whole = as_pipeline(pipeline)
    budget = _task_arguments.requirements("resources", resources)
    ports = _ports(port)
    # Each import stands where the run comes to need it: the first starts a process, and the others take about as long
    # as that process needs to start.
    with ExitStack() as undo:
        launchers: Sequence[Launcher] = ()
        if multiprocessing and whole.tasks:
            from daisy import _launching

            launchers = _launching.launchers_of(whole.tasks, worker_processes=worker_processes)
            if not (block_tracking and all(map(_tracking.is_begun, whole.tasks))):
                _launching.prepare(whole.tasks, launchers, undo)
        from daisy._run_arguments import RunArguments
        from daisy._stores import open_stores

        run = RunArguments(
            whole,
            budget,
            host or os.environ.get(HOST_VARIABLE) or None,
            ports,
            progress,
            summary,
            block_tracking,
            worker_processes,
        )
        with open_stores(run.tasks, run.masks, run.settings, enabled=block_tracking) as run.stores:
            if launchers:
                from daisy._workers_run import run_with_workers

                result = run_with_workers(run, launchers, undo)
            else:
                from daisy._serial_run import run_serially

                result = run_serially(run)
    return result.states if return_states else result


run_blockwise.__module__ = "daisy"


def _ports(port: Ports) -> tuple[int, int]:
    expected = "a port number from 0 to 65535, or a range of them"
    if port is None:
        return 0, 0
    ends: tuple[Any, ...] = (port, port)
    if isinstance(port, range) and port.step == 1:
        ends = (port.start, port.stop - 1)
    elif isinstance(port, tuple):
        ends = port
    try:
        first, last = (operator.index(end) for end in ends if end is not True)
    except (TypeError, ValueError):
        _task_arguments.refuse(TypeError, "port", port, expected)
    if not 0 <= first <= last <= 65535:
        _task_arguments.refuse(ValueError, "port", port, expected)
    return first, last
