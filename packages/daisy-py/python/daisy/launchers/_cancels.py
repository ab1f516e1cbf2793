"""Cancelling jobs of an engine that may be silent: until it has heard of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Sequence

from daisy._errors import LauncherError
from daisy.launchers._engine import Engine
from daisy.logging import logger

_FIRST_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 15.0
_LONGEST_S = 24 * 3600.0


class Cancels:
    """What an engine is to cancel and has not heard of yet.

    Args:
        engine: Told so.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = threading.Lock()
        # Whether each is to be killed at once, by its name.
        self._names: dict[str, bool] = {}
        self._pause = _FIRST_PAUSE_S
        self._next_at = 0.0

    @property
    def left(self) -> list[str]:
        """Elements that may live on, since the engine was not reached."""
        with self._lock:
            return list(self._names)

    def add(self, names: Iterable[str], *, at_once: bool) -> None:
        """Cancel these elements, now or as soon as the engine answers."""
        with self._lock:
            for name in names:
                self._names[name] = at_once or self._names.get(name, False)
            self._next_at = 0.0
        self.tell()

    def tell(self) -> bool:
        """Tell the engine what it has not heard of, if it is time for that; whether nothing is left."""
        with self._lock:
            if not self._names or time.monotonic() < self._next_at:
                return not self._names
            for at_once in (True, False):
                names = [name for name, kill in self._names.items() if kill is at_once]
                if names and not self._tell(names, at_once=at_once):
                    self._next_at = time.monotonic() + self._pause
                    self._pause = min(2 * self._pause, _LONGEST_PAUSE_S)
                    return False
                for name in names:
                    del self._names[name]
            self._pause = _FIRST_PAUSE_S
            return True

    def _tell(self, names: Sequence[str], *, at_once: bool) -> bool:
        for argv in self._engine.dialect.cancel(names, at_once):
            try:
                if self._engine.call(argv) is None:
                    return False
            except LauncherError as error:
                logger.warning("jobs %s may live on: %s", ", ".join(names), error)
                return False
        return True

    def go_on(self) -> None:
        """Try again, beside the program, as long as it lives."""
        threading.Thread(target=self._go_on, name="daisy-cancel", daemon=True).start()

    def _go_on(self) -> None:
        until = time.monotonic() + _LONGEST_S
        while time.monotonic() < until and not self.tell():
            time.sleep(max(0.1, self._next_at - time.monotonic()))
