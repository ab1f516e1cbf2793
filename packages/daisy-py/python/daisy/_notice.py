"""Leaving in time: a worker of a job engine is told before it is ended."""

from __future__ import annotations

import os
import signal
import threading
import time
from datetime import timedelta

from daisy import _core
from daisy._context import Context
from daisy._settings import STARTED_VARIABLE

_NAMES = ("SIGTERM", "SIGINT", "SIGUSR1", "SIGUSR2", "SIGXCPU")

_is_watching = False
_early: list[int] = []
"""Signals that came before there was a connection to leave."""


def prepare(context: Context) -> bool:
    """Listen for notice from now on; whether there may be any.

    Until this is called the signals end the process, which is right: it has no block yet, and the driver
    replaces it. From here on it may have one.
    """
    if context.get("grace") is None or threading.current_thread() is not threading.main_thread():
        return False
    if not hasattr(_core.WorkerConnection, "watch_notice"):
        return False  # a system without these signals
    # Handlers and not SIG_IGN: the system must deliver the signal for its number to be written.
    for name in _NAMES:
        signal.signal(getattr(signal, name), _heard)
    return True


def forget() -> None:
    """There is no connection to leave after all: the signals end the process again."""
    for name in _NAMES:
        if signal.getsignal(getattr(signal, name)) is _heard:
            signal.signal(getattr(signal, name), signal.SIG_DFL)


def watch(connection: _core.WorkerConnection, context: Context) -> None:
    """Take no more blocks and leave when the engine gives notice, on the terms in the context.

    The interpreter writes the number of a signal to a pipe at once, whatever its threads are doing, and a
    thread without the interpreter's lock reads it: a worker that is deep in foreign code hears it, too.
    """
    global _is_watching  # noqa: PLW0603 - signals belong to the process
    terms = {name: context.get(name) for name in ("walltime", "notice", "grace")}
    numbers = [getattr(signal, name) for name in _NAMES]
    descriptor = connection.watch_notice(
        walltime=_time_left(terms["walltime"]) if terms["walltime"] else None,
        notice=_seconds(terms["notice"] or "0"),
        grace=_seconds(terms["grace"]),
        signals=bytes(numbers),
    )
    signal.set_wakeup_fd(descriptor, warn_on_full_buffer=False)
    _is_watching = True
    if _early:
        os.write(descriptor, bytes(_early))


def _time_left(walltime: str) -> timedelta:
    """What is left of the time of a job, which began before this interpreter did."""
    spent = time.time() - float(os.environ.get(STARTED_VARIABLE, time.time()))
    return max(timedelta(), _seconds(walltime) - timedelta(seconds=max(0.0, spent)))


def _seconds(text: str) -> timedelta:
    return timedelta(seconds=float(text))


def _heard(number: int, _frame: object) -> None:
    """The pipe has it, once there is one."""
    if not _is_watching:
        _early.append(number)


def _reset_in_fork() -> None:
    """A process that is forked inside a block must not speak for its worker, and ends when it is told to."""
    if _is_watching:
        signal.set_wakeup_fd(-1)
        forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_in_fork)
