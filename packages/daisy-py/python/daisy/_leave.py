"""The end of a worker that is a fork: as that of an interpreter, but without taking it down.

To take down an interpreter with large modules touches all of its memory, which a fork would have to copy for that. It
is left out where nothing is open that could be waiting to be written.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
import threading

from daisy._unsafe import descriptors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def run_and_leave(work: Callable[[], None]) -> None:
    """Do the work of this process and end it; returns only if the interpreter has to be taken down."""
    before = descriptors()
    code = _code_of(work)
    # What is done at exit runs in this order in every interpreter.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
    if descriptors() - before:
        # Perhaps a file that the user's function keeps open, with something in its buffer.
        sys.exit(code)
    os._exit(code)


def _code_of(work: Callable[[], None]) -> int:
    """Run it; returns the exit code that it comes to, with what is to be said of an error said."""
    try:
        work()
    except SystemExit as leaving:
        if leaving.code is None or isinstance(leaving.code, int):
            return (leaving.code or 0) & 0xFF
        print(leaving.code, file=sys.stderr)
        return 1
    except BaseException as error:  # noqa: BLE001 - the end of the process, whatever it is
        sys.excepthook(type(error), error, error.__traceback__)
        if isinstance(error, KeyboardInterrupt):
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGINT)
        return 1
    return 0
