"""Cancelling jobs of an engine that may be silent: until it has heard of it, and never the job of a stranger."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from daisy._errors import LauncherError
from daisy.launchers._dialect import Seen
from daisy.launchers._engine import Engine
from daisy.logging import logger

_FIRST_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 15.0
_LONGEST_S = 24 * 3600.0


@dataclass(frozen=True)
class _Wanted:
    """How one element is to be ended."""

    tag: str
    at_once: bool
    is_late: bool


class Cancels:
    """What an engine is to cancel and has not heard of yet.

    An engine that lost what it knew, or was set up anew, gives ids away again. So whatever is cancelled long after
    the engine was last heard of it is looked at before: it must bear the tag of the run that submitted it.

    Args:
        engine: Told so.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = threading.Lock()
        self._wanted: dict[str, _Wanted] = {}
        self._pause = _FIRST_PAUSE_S
        self._next_at = 0.0

    @property
    def left(self) -> list[str]:
        """Elements that may live on, since the engine was not reached."""
        with self._lock:
            return list(self._wanted)

    def add(
        self, names: Iterable[str], tag: str, *, at_once: bool = True, is_late: bool = False
    ) -> None:
        """Cancel these elements, now or as soon as the engine answers.

        Args:
            names: What the engine calls them.
            tag: What the names of their jobs contain, and no other's.
            at_once: Whether they get no time to leave.
            is_late: Whether the ids may be someone else's by now.
        """
        with self._lock:
            for name in names:
                before = self._wanted.get(name)
                self._wanted[name] = _Wanted(
                    tag,
                    at_once or (before is not None and before.at_once),
                    is_late or self._engine.was_silent or (before is not None and before.is_late),
                )
            self._next_at = 0.0
        self.tell()

    def tell(self) -> bool:
        """Tell the engine what it has not heard of, if it is time for that; whether nothing is left."""
        with self._lock:
            if not self._wanted or time.monotonic() < self._next_at:
                return not self._wanted
            if not (self._drop_strangers() and self._tell_all()):
                self._wanted = {
                    name: replace(wanted, is_late=True) for name, wanted in self._wanted.items()
                }
                self._next_at = time.monotonic() + self._pause
                self._pause = min(2 * self._pause, _LONGEST_PAUSE_S)
                return False
            self._pause = _FIRST_PAUSE_S
            return True

    def _drop_strangers(self) -> bool:
        """Take out what is not ours any more; whether the engine answered."""
        late = {name: wanted for name, wanted in self._wanted.items() if wanted.is_late}
        if not late:
            return True
        shown = self._shown(list(late))
        if shown is None:
            return False
        for name, wanted in late.items():
            seen = shown.get(name)
            if seen is None or wanted.tag not in seen.name:
                del self._wanted[name]
            if seen is not None and wanted.tag not in seen.name and not seen.state.is_final:
                logger.warning(
                    "job %s is not cancelled: its id was given away again, to %r", name, seen.name
                )
        return True

    def _shown(self, names: Sequence[str]) -> Mapping[str, Seen] | None:
        dialect = self._engine.dialect
        try:
            seen = self._engine.query(sorted({dialect.job_of(name) for name in names}))
        except LauncherError:
            return None
        if seen is None:
            return None
        return {dialect.element(job, index): one for (job, index), one in seen.items()}

    def _tell_all(self) -> bool:
        for at_once in (True, False):
            names = [name for name, wanted in self._wanted.items() if wanted.at_once is at_once]
            if names and not self._tell(names, at_once=at_once):
                return False
            for name in names:
                del self._wanted[name]
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
