"""A run in the thread that asked for it."""

from __future__ import annotations

import time

from daisy import _core, _interrupt
from daisy._errors import StoreError
from daisy._progress import Watch
from daisy._report.left import leave_note
from daisy._result import RunResult
from daisy._run_arguments import RunArguments, attach
from daisy._summary import print_summary
from daisy._task_function import FunctionKind


def run_serially(arguments: RunArguments) -> RunResult:
    """Run in this thread.

    Args:
        arguments: What to run.

    Returns:
        What it came to. Exceptions of the function come out as they are.
    """
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
            attach(error, result)
            if arguments.summary:
                print_summary(result, interrupted=isinstance(error, KeyboardInterrupt))
        raise error
    if arguments.summary:
        print_summary(result)
    return result
