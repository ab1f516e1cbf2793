"""How long a worker may wait, and how long it may take to connect once it runs."""

from __future__ import annotations

from collections.abc import Sequence

from daisy.launchers._protocol import Caps, State, Status
from daisy.logging import logger

_FIRST_WORD_S = 10.0
_NEXT_WORD_S = 60.0


class Clock:
    """Two clocks of one worker that is not connected; both stand still while the engine is silent."""

    def __init__(self, name: str, now: float) -> None:
        self._name = name
        self._looked_at = now
        self._before = State.UNKNOWN
        self._queued_s = 0.0
        self._running_s = 0.0
        self._said_at = _FIRST_WORD_S

    def judge(self, status: Status, caps: Caps, addresses: Sequence[str], now: float) -> str:
        """Take note of what the engine says; returns why the worker is to be given up, or nothing."""
        elapsed = now - self._looked_at if status.state is self._before else 0.0
        self._looked_at, self._before = now, status.state
        if status.hopeless:
            return f"it can never start: {status.reason or 'the engine does not say why'}"
        if status.state is State.QUEUED:
            self._queued_s += elapsed
            self._tell(status.reason)
            if caps.max_queue_s is not None and self._queued_s > caps.max_queue_s:
                return (
                    f"it waited for more than {caps.max_queue_s:g} s: {status.reason or 'queued'}"
                )
        elif status.state is State.RUNNING:
            self._running_s += elapsed
            if self._running_s > caps.connect_timeout_s:
                return (
                    f"started on {status.node or 'an unknown node'}, never reached this run within "
                    f"{caps.connect_timeout_s:g} s: tried {', '.join(addresses)}"
                )
        return ""

    def stop(self) -> None:
        """The worker is connected: time does not count until it is judged again."""
        self._before = State.UNKNOWN

    def _tell(self, reason: str) -> None:
        if self._queued_s >= self._said_at:
            self._said_at = self._queued_s + _NEXT_WORD_S
            logger.warning(
                "%s waits since %.0f s: %s", self._name, self._queued_s, reason or "queued"
            )
