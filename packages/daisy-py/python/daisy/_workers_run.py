"""A run with processes or threads."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence

from daisy import _interrupt, _termination, logging
from daisy._driver import Driver
from daisy._progress import Watch
from daisy._report.left import leave_note
from daisy._result import RunResult
from daisy._run_arguments import RunArguments, attach
from daisy._summary import print_summary
from daisy.launchers import Launcher


def run_with_workers(
    arguments: RunArguments, launchers: Sequence[Launcher], undo: contextlib.ExitStack
) -> RunResult:
    """Run with processes or threads.

    Args:
        arguments: What to run.
        launchers: The launcher of each task.
        undo: Takes back what launchers did ahead; not needed any more once there is a driver.

    Returns:
        What it came to.
    """
    started = time.monotonic()
    driver = Driver(arguments, launchers)
    undo.pop_all()
    leave_note(arguments.tasks, arguments.stores, makes_logs=arguments.worker_processes)
    with _termination.raised() if driver.is_remote else contextlib.nullcontext():
        return _drive(arguments, driver, started)


def _drive(arguments: RunArguments, driver: Driver, started: float) -> RunResult:
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
        attach(stopped_by, result)
        raise stopped_by
    logging.logger.debug("run ended after %.3f s", result.wall_seconds)
    return result
