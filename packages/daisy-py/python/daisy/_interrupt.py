"""Ctrl-C that is not lost: a function of the user's may swallow its exception."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def noted() -> Iterator[list[int]]:
    """Note each Ctrl-C besides raising KeyboardInterrupt for it; yields the notes.

    A handler of the user's stays as it is; outside the main thread nothing is changed.
    """
    notes: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        notes.append(number)
        signal.default_int_handler(number, frame)

    is_ours = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if is_ours:
        signal.signal(signal.SIGINT, note)
    try:
        yield notes
    finally:
        if is_ours and signal.getsignal(signal.SIGINT) is note:
            signal.signal(signal.SIGINT, signal.default_int_handler)
