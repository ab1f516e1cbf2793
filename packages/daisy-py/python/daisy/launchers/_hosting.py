"""What the launchers have in common whose workers are children of another engine's processes."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from daisy.launchers import _hosted
from daisy.launchers._amounts import Time, seconds
from daisy.launchers._process import tail_of
from daisy.launchers._protocol import Caps, Handle, Status, WorkerSpec

_END_S = 5.0


@dataclass
class Hosted:
    """One worker of ours, as the driver knows it."""

    spec: WorkerSpec
    cancelled: bool = False
    final: Status | None = None


H = TypeVar("H", bound=Hosted)


class HostingLauncher(ABC, Generic[H]):
    """Keeps what is known of each worker; how the engine is spoken to is for the classes of the engines.

    Args:
        max_queue: Longest time that a worker may wait for its place.
        connect_timeout: Longest time from the start of a worker to its connection.
        python: Interpreter of the workers; that of the process that hosts one if it is not given.
        poll_every: Seconds between questions to the engine.
    """

    name: str

    def __init__(
        self, *, max_queue: Time, connect_timeout: Time, python: str | None, poll_every: float
    ) -> None:
        self.caps = Caps(
            remote=True,
            can_queue=True,
            grace=_hosted.GRACE_S,
            poll_every=poll_every,
            max_batch=500,
            max_queue_s=seconds("max_queue", max_queue),
            connect_timeout_s=seconds("connect_timeout", connect_timeout) or 120.0,
        )
        self._python = python
        self._run = ""
        self._hosted: dict[str, H] = {}

    @abstractmethod
    def poll(self, handles: Sequence[Handle]) -> Mapping[Handle, Status]:
        """Ask the engine about these workers, all at once."""

    @abstractmethod
    def cancel(self, handles: Sequence[Handle], grace_s: float) -> None:
        """End these workers."""

    def _not_ended(self, handles: Sequence[Handle]) -> list[H]:
        """What is known of those that have not ended yet."""
        found = [self._hosted.get(handle.launch_id) for handle in handles]
        return [hosted for hosted in found if hosted is not None and hosted.final is None]

    def log_tail(self, handle: Handle, n: int = 50) -> str:
        """The last lines that a worker wrote to its error output."""
        hosted = self._hosted.get(handle.launch_id)
        if hosted is None or hosted.spec.log_dir is None:
            return ""
        return tail_of(hosted.spec.log_dir / f"worker_{handle.launch_id}.err", n)

    def forget(self, handle: Handle) -> None:
        """A worker that ended will not be asked for again."""
        self._hosted.pop(handle.launch_id, None)

    def _end_all(self) -> None:
        """End every worker at once, and wait a while until they have ended."""
        handles = [Handle(self.name, worker, "") for worker in self._hosted]
        if not handles:
            return
        self.cancel(handles, 0.0)
        until = time.monotonic() + _END_S
        while time.monotonic() < until and not all(
            status.state.is_final for status in self.poll(handles).values()
        ):
            time.sleep(_hosted.LOOK_EVERY_S)

    def __repr__(self) -> str:
        return f"<daisy launcher {self.name!r}>"
