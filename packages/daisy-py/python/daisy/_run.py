"""Running a pipeline."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal, overload

from daisy import _core, _interrupt, _script, _task_arguments, _termination, logging
from daisy._errors import StoreError
from daisy._mask import mask_bytes
from daisy._observe import FormerObservers
from daisy._observers import observer_of
from daisy._pipeline import Pipeline, PipelineLike, as_pipeline
from daisy._progress import Watch
from daisy._report.facts import settings_of
from daisy._report.left import leave_note, leave_report
from daisy._result import RunResult
from daisy._settings import (
    CONNECT_TIMEOUT_VARIABLE,
    HEARTBEAT_VARIABLE,
    HOST_VARIABLE,
    RECONNECT_GRACE_VARIABLE,
    seconds_from_environment,
    tls_from_environment,
)
from daisy._stores import open_stores
from daisy._summary import print_summary
from daisy._task_function import FunctionKind

if TYPE_CHECKING:
    from daisy._driver import Driver
    from daisy.launchers import Handle

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
        SerializationError: A function that cannot be sent to a worker; nothing was started.
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
    _script.stop_if_loading()
    whole = as_pipeline(pipeline)
    run = _Arguments(
        whole,
        _task_arguments.requirements("resources", resources),
        host or os.environ.get(HOST_VARIABLE) or None,
        _ports(port),
        progress,
        summary,
        block_tracking,
        worker_processes,
    )
    with open_stores(run.tasks, run.masks, run.settings, enabled=block_tracking) as run.stores:
        result = _run_with_workers(run) if multiprocessing else _run_serially(run)
    return result.states if return_states else result


class Server:
    """Runs pipelines; what :func:`run_blockwise` is made of in daisy 1.x and 2.0.0.

    Args:
        stop_event: Not used; Ctrl-C stops a run.
        host: Where the runs of this server listen, if they do not say so themselves.

    Attributes:
        last_result: The result of the last run.
        last_tracking_summary: What the last run measured.
        last_task_order: Names of its tasks in the order in which data flows.

    >>> import daisy
    >>> total, cell = daisy.Roi((0,), (40,)), daisy.Roi((0,), (10,))
    >>> task = daisy.Task("copy", total, cell, cell, lambda block: None, worker_processes=False)
    >>> server = daisy.Server()
    >>> server.run_blockwise(task, progress=False, summary=False)["copy"].completed_count
    4
    >>> bool(server.last_result), server.last_task_order
    (True, ['copy'])
    >>> observer = object()  # methods that it does not have are not called
    >>> server.register_observer(observer)
    >>> server.unregister_observer(observer)
    """

    def __init__(self, stop_event: object = None, host: str | None = None) -> None:
        self.stop_event = stop_event
        self._host = host
        self._observers: list[object] = []
        self.hostname: str | None = None
        self.port: int | None = None
        self.last_result: RunResult | None = None
        self.last_tracking_summary: dict[str, Any] = {}
        self.last_task_order: list[str] = []

    def run_blockwise(
        self,
        pipeline: PipelineLike,
        resources: Mapping[str, int] | None = None,
        progress: object = True,
        block_tracking: bool = True,
        host: str | None = None,
        summary: bool = True,
        **options: Any,
    ) -> dict[str, _core.TaskState]:
        """Run with workers.

        Args:
            pipeline: A pipeline, a task, or a list of tasks.
            resources: As for :func:`run_blockwise`, like the others.
            progress: True for bars, False for none, or an observer.
            block_tracking: False to ignore tracking stores.
            host: Where to listen; that of the server if it is not given.
            summary: Whether the execution summary is printed.
            **options: What else :func:`run_blockwise` takes.

        Returns:
            The states of the tasks by name.
        """
        options.pop("scheduler", None)  # daisy 1.x took one; a run makes its own
        result: RunResult = run_blockwise(
            pipeline,
            resources=resources,
            progress=self._observer_of(progress),
            block_tracking=block_tracking,
            host=host or self._host,
            summary=summary,
            **options,
        )
        self.last_result = result
        self.last_tracking_summary = result.tracking_summary
        self.last_task_order = list(result.states)
        return result.states

    def register_observer(self, observer: object) -> None:
        """Tell an observer of daisy 1.x (``daisy.server_observer.ServerObserver``) of the runs of this server.

        Those of today are passed as ``progress=``.

        Args:
            observer: The observer.
        """
        self._observers.append(observer)

    def unregister_observer(self, observer: object) -> None:
        """Tell it no more.

        Args:
            observer: One that was registered.
        """
        self._observers.remove(observer)

    def _observer_of(self, progress: object) -> object:
        if not self._observers:
            return progress
        return FormerObservers(self._observers, observer_of(progress))


Server.__module__ = "daisy"
run_blockwise.__module__ = "daisy"


class _Arguments:
    """What a run was asked to be."""

    def __init__(
        self,
        pipeline: Pipeline,
        resources: dict[str, int],
        host: str | None,
        ports: tuple[int, int],
        progress: object,
        summary: bool,
        block_tracking: bool,
        worker_processes: bool,
    ) -> None:
        self.pipeline = pipeline
        self.tasks = pipeline.tasks
        self.plan = pipeline.plan()
        self.resources = resources
        self.host = host
        self.ports = ports
        self.observer = observer_of(progress)
        self.summary = summary
        self.block_tracking = block_tracking
        self.worker_processes = worker_processes
        self.masks = [mask_bytes(task) for task in self.tasks]
        self.stores: list[_core.TrackingStore | None] = []
        self.settings = {
            "resources": resources,
            "host": host,
            "worker_processes": worker_processes,
            "block_tracking": block_tracking,
        }

    def result(
        self,
        outcome: _core.RunOutcome,
        wall_seconds: float,
        jobs: Sequence[Handle] = (),
        jobs_left: Sequence[Handle] = (),
    ) -> RunResult:
        """What the run came to, with what it was asked to be; its report is left beside the logs."""
        result = RunResult(
            outcome,
            wall_seconds=wall_seconds,
            tasks=settings_of(self.tasks),
            settings=self.settings,
            jobs=jobs,
            jobs_left=jobs_left,
        )
        leave_report(result)
        return result

    def options(
        self, *, resources: dict[str, int], all_local: bool, may_queue: bool = False
    ) -> _core.RunOptions:
        """The same for the core."""
        return _core.RunOptions(
            resources={**resources},
            host=self.host,
            ports=self.ports,
            all_local=all_local,
            tls=tls_from_environment(),
            masks=self.masks,
            stores=self.stores,
            measures=[task.resource_tracking for task in self.tasks],
            # Whoever waits in a queue has not failed to connect: the fleet keeps both clocks then.
            connect_timeout=timedelta(days=3650)
            if may_queue
            else timedelta(seconds=seconds_from_environment(CONNECT_TIMEOUT_VARIABLE, 120)),
            reconnect_grace=timedelta(
                seconds=seconds_from_environment(RECONNECT_GRACE_VARIABLE, 30)
            ),
            heartbeat=timedelta(seconds=seconds_from_environment(HEARTBEAT_VARIABLE, 5)),
            stall_after=timedelta(minutes=10),
        )


def _run_serially(arguments: _Arguments) -> RunResult:
    """Run in this thread."""
    from daisy._block import Meter  # noqa: PLC0415 - only where blocks are measured in this process

    for task in arguments.tasks:
        if task.function_kind is not FunctionKind.BLOCK:
            raise ValueError(
                f"task {task.task_id!r}: multiprocessing=False needs a function of one block, got one "
                "without arguments, which drives a daisy.Client; run it with multiprocessing=True"
            )
    started = time.monotonic()
    leave_note(arguments.tasks, arguments.stores, makes_logs=False)
    run = _core.SerialRun(arguments.plan)
    with _interrupt.noted() as notes, Watch(arguments.observer, run.snapshot) as watch:
        # One thread takes what it needs: budgets are for workers beside each other.
        budget = {key: 2**62 for task in arguments.tasks for key in task.requires}
        outcome, error = run.run(
            arguments.options(resources=budget, all_local=True),
            [task.process_function for task in arguments.tasks],
            [Meter if task.resource_tracking else None for task in arguments.tasks],
            [task.check_function for task in arguments.tasks],
            notes.__len__,
        )
        if notes and error is None:
            error = KeyboardInterrupt()
        watch.end(outcome.states)
    result = arguments.result(outcome, time.monotonic() - started)
    if error is not None:
        # An exception of the user's comes out as it is; those of the run itself tell what was done.
        if isinstance(error, KeyboardInterrupt | StoreError):
            _attach(error, result)
            if arguments.summary:
                print_summary(result, interrupted=isinstance(error, KeyboardInterrupt))
        raise error
    if arguments.summary:
        print_summary(result)
    return result


def _run_with_workers(arguments: _Arguments) -> RunResult:
    """Run with processes or threads."""
    if not arguments.tasks:
        return _run_serially(arguments)
    from daisy._driver import Driver  # noqa: PLC0415 - serial runs need none of it

    started = time.monotonic()
    driver = Driver(arguments)
    leave_note(arguments.tasks, arguments.stores, makes_logs=arguments.worker_processes)
    with _termination.raised() if driver.is_remote else contextlib.nullcontext():
        return _drive(arguments, driver, started)


def _drive(arguments: _Arguments, driver: Driver, started: float) -> RunResult:
    interrupt: BaseException | None = None
    with _interrupt.noted() as notes, Watch(arguments.observer, driver.run.snapshot) as watch:
        try:
            driver.serve(notes)
        except BaseException as error:  # noqa: BLE001 - Ctrl-C or an error of check_function: raised again below
            interrupt = error
        outcome, failure = driver.end(cancel=interrupt is not None)
        watch.end(outcome.states)
    wall_seconds = time.monotonic() - started
    result = arguments.result(outcome, wall_seconds, driver.jobs, driver.jobs_left)
    if arguments.summary:
        print_summary(result, interrupted=isinstance(interrupt, KeyboardInterrupt))
    stopped_by = interrupt or failure
    if stopped_by is not None:
        _attach(stopped_by, result)
        raise stopped_by
    logging.logger.debug("run ended after %.3f s", result.wall_seconds)
    return result


def _attach(error: BaseException, result: RunResult) -> None:
    """Let whoever catches an interrupt, or the failure of a store, see what was done."""
    error.daisy_result = result  # type: ignore[attr-defined]
    error.daisy_states = result.states  # type: ignore[attr-defined]
    error.daisy_task_order = list(result.states)  # type: ignore[attr-defined]
    if isinstance(error, StoreError):
        error.result = result


def _ports(port: Ports) -> tuple[int, int]:
    expected = "a port number from 0 to 65535, or a range of them"
    if port is None:
        return 0, 0
    if isinstance(port, range):
        ends = (port.start, port.stop - 1)
    elif isinstance(port, tuple):
        ends = port
    else:
        number = _task_arguments.count("port", port, least=0, most=65535)
        ends = (number, number)
    if not 0 <= ends[0] <= ends[1] <= 65535:
        _task_arguments.refuse(ValueError, "port", port, expected)
    return ends
