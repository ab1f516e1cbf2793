"""Workers as elements of array jobs: what an engine's words about one mean."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from daisy.launchers._dialect import Dialect, Seen
from daisy.launchers._protocol import State, Status

_GONE_POLLS = 3
# Engines tell a process to leave with these; one that is not listening yet dies of them.
_NOTICES = frozenset(
    getattr(signal, name)
    for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGXCPU")
    if hasattr(signal, name)
)


@dataclass
class Element:
    """One worker: an element of an array job."""

    job: str
    index: int
    task_id: str
    worker: int
    log_dir: Path | None
    mem_mb: int = 0
    cancelled: bool = False
    known_at: float = field(default_factory=time.monotonic)
    polls_gone: int = 0
    gone_since: float = 0.0
    final: Status | None = None

    def judge(
        self, seen: Seen | None, dialect: Dialect, end_of: Callable[[str, int], Seen | None]
    ) -> Status:
        """Where the worker is, from what the engine says of it; None: it is not in the queue."""
        if seen is not None:
            self.known_at = time.monotonic()
        if seen is None:
            status = self._gone(dialect, end_of)
        elif seen.state.is_final:
            status = self._ended(seen)
        else:
            self.polls_gone = 0
            is_hopeless = seen.state is State.QUEUED and dialect.hopeless(seen.reason)
            status = Status(seen.state, seen.reason, node=seen.node, hopeless=is_hopeless)
        if status.state.is_final:
            self.final = status
        return status

    def _gone(self, dialect: Dialect, end_of: Callable[[str, int], Seen | None]) -> Status:
        now = time.monotonic()
        if self.polls_gone == 0:
            self.gone_since = now
        self.polls_gone += 1
        if self.cancelled:
            return Status(State.CANCELLED, "cancelled")
        booked = end_of(self.job, self.index)
        if booked is not None:
            return self._ended(booked)
        if self.polls_gone < _GONE_POLLS or now - self.gone_since < dialect.books_late_s:
            return Status(State.UNKNOWN, "it is not in the queue", gone=True)
        if dialect.keeps_finished:
            return Status(State.LOST, "it has left the queue", outside=True)
        return Status(State.EXITED, "it has left the queue")

    def _ended(self, seen: Seen) -> Status:
        reason = f"{seen.word} {seen.reason}".strip()
        state, code = seen.state, seen.exit_code
        outside = seen.outside or is_notice(code)
        if self.cancelled:
            state = State.CANCELLED
        elif state is not State.EXITED and code == 0 and not seen.out_of_memory:
            # The engine ended the job, and the worker had left in order before.
            state = State.EXITED
        elif state is State.CANCELLED:
            state, reason = State.FAILED, f"{reason}, by someone else".strip()
        return Status(state, reason, code, seen.node, outside=outside and not seen.out_of_memory)


def is_notice(code: int | None) -> bool:
    """Whether an exit code says that the process died of a signal that told it to leave."""
    return code is not None and (-code in _NOTICES or code - 128 in _NOTICES)
