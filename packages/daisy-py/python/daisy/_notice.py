"""Leaving in time: a worker of a job engine is told before it is ended."""

from __future__ import annotations

import os
import signal
import threading
from datetime import timedelta

from daisy import _core
from daisy._context import Context

_NAMES = ("SIGTERM", "SIGINT", "SIGUSR1", "SIGUSR2", "SIGXCPU")

_is_watching = False


def watch(connection: _core.WorkerConnection, context: Context) -> None:
    """Take no more blocks and leave when the engine gives notice, on the terms in the context.

    The interpreter writes the number of a signal to a pipe at once, whatever its threads are doing, and a
    thread without the interpreter's lock reads it: a worker that is deep in foreign code hears it, too.
    """
    global _is_watching  # noqa: PLW0603 - signals belong to the process
    terms = {name: context.get(name) for name in ("walltime", "notice", "grace")}
    if terms["grace"] is None or threading.current_thread() is not threading.main_thread():
        return
    if not hasattr(connection, "watch_notice"):
        return  # a system without these signals
    numbers = [getattr(signal, name) for name in _NAMES]
    descriptor = connection.watch_notice(
        walltime=_seconds(terms["walltime"]) if terms["walltime"] else None,
        notice=_seconds(terms["notice"] or "0"),
        grace=_seconds(terms["grace"]),
        signals=bytes(numbers),
    )
    # Handlers and not SIG_IGN: the system must deliver the signal for its number to be written.
    for number in numbers:
        signal.signal(number, _heard)
    signal.set_wakeup_fd(descriptor, warn_on_full_buffer=False)
    _is_watching = True


def _seconds(text: str) -> timedelta:
    return timedelta(seconds=float(text))


def _heard(_number: int, _frame: object) -> None:
    """The pipe has it."""


def _reset_in_fork() -> None:
    """A process that is forked inside a block must not speak for its worker, and ends when it is told to."""
    if _is_watching:
        signal.set_wakeup_fd(-1)
        for name in _NAMES:
            number = getattr(signal, name)
            if signal.getsignal(number) is _heard:
                signal.signal(number, signal.SIG_DFL)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_in_fork)
