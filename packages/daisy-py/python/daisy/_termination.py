"""SIGTERM and SIGHUP of a driver, while it has jobs that would outlive it."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Terminated(BaseException):
    """The driver was told to end.

    Attributes:
        number: The signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(f"signal {signal.Signals(number).name}")
        self.number = number


@contextmanager
def raised() -> Iterator[None]:
    """Turn the signals into an exception, so that jobs are cancelled; then end by the signal all the same.

    Signals that the user handles stay the user's; outside the main thread nothing is changed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [
        number
        for number in (signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM))
        if signal.getsignal(number) is signal.SIG_DFL
    ]
    for number in numbers:
        signal.signal(number, _raise)
    try:
        yield
    except Terminated as error:
        signal.signal(error.number, signal.SIG_DFL)
        os.kill(os.getpid(), error.number)
        raise
    finally:
        for number in numbers:
            if signal.getsignal(number) is _raise:
                signal.signal(number, signal.SIG_DFL)


def _raise(number: int, _frame: FrameType | None) -> None:
    # Once: what is being cleaned up must not be interrupted by the same.
    signal.signal(number, signal.SIG_IGN)
    raise Terminated(number)
