"""The loop of a worker that is a thread.

It is written in Python, unlike that of a process: when the interpreter ends, it ends the threads that are left in the
middle of what they run, and below a block function there must be no Rust then, which cannot be unwound like that.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

from daisy import _core


class Stopped(SystemExit):
    """Raised in a thread in the middle of a block: its worker is not wanted any more.

    It may arrive when the block has just ended.
    """


def process_blocks(
    connection: _core.WorkerConnection,
    function: Callable[[_core.Block], Any],
    on_failure: Callable[[_core.Block, BaseException | None, str], str],
) -> int:
    """Call the function with each block until there are no more; returns how many."""
    meter_type = None
    if connection.measures:
        from daisy._block import Meter  # noqa: PLC0415 - only where blocks are measured

        meter_type = Meter
    count, process = 0, os.getpid()
    while (block := connection.acquire()) is not None:
        meter = None if meter_type is None else meter_type()
        error: BaseException | None = None
        try:
            _core.refuse_unfinished(function(block), "block function")
        except Stopped:
            return count
        except BaseException as raised:  # noqa: BLE001 - the failure of a block, whatever it is
            error = raised
        stats = None if meter is None else block.stats or meter.read()
        problem = _core.settle_status(block, error is not None)
        if problem is not None or os.getpid() != process:
            problem = on_failure(block, error, problem or "")
        connection.report(block, problem, stats)
        count += 1
    return count


_SET_ASYNC_EXCEPTION = ctypes.pythonapi.PyThreadState_SetAsyncExc
# Looks for what was sent to a thread come more often than that.
_TURNS = 100


class _Answered(SystemExit):
    """Sent by a thread to itself."""


def stop(thread: threading.Thread) -> None:
    """Have a thread leave its block as soon as it is in Python code."""
    own = ctypes.c_ulong(threading.get_ident())
    if thread.ident is None or not thread.is_alive():
        return
    try:
        _SET_ASYNC_EXCEPTION(ctypes.c_ulong(thread.ident), ctypes.py_object(Stopped))
        if sys.version_info < (3, 12) and sys.gettrace() is not None:
            # One that waits in foreign code does not answer, and until one thread does, no function begins in
            # any thread that is traced, in a debugger or under coverage. Here one answers; the other is told
            # again when it is back. No function of Python may be called before that.
            _SET_ASYNC_EXCEPTION(own, ctypes.py_object(_Answered))
            for _ in range(_TURNS):
                pass
    except _Answered:
        pass


def unstop() -> None:
    """Have what would stop this thread, and has not reached it, strike now, where it does no harm.

    It cannot be taken back: that leaves CPython before 3.13 with a signal that nothing answers.
    """
    with contextlib.suppress(Stopped):
        for _ in range(_TURNS):
            pass
