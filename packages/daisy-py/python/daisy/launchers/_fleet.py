"""All workers of a run, kept by one thread that lives as long as they do."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from daisy import _core
from daisy._errors import LauncherError
from daisy.launchers._protocol import Handle, Launcher, State, Status, WorkerSpec
from daisy.logging import logger

_GRACE_SECONDS = 0.5
_SETTLING_POLL_SECONDS = 0.002
_LOCAL_BATCH = 4

SpecOf = Callable[[int, Sequence[int]], WorkerSpec]
"""The specification of these workers of the task at this position."""


@dataclass(frozen=True)
class _Launch:
    task: int
    workers: Sequence[int]


@dataclass(frozen=True)
class _Kill:
    worker: int
    grace_s: float


@dataclass(frozen=True)
class _Finish:
    cancel: bool


class Fleet:
    """Calls launchers on a thread of its own, so that a slow one holds up nothing.

    The thread ends only after the last worker: the system ends a worker when the thread that started it ends.

    Args:
        run: Told when workers end.
        launchers: One per task, by position; tasks may share one.
        spec_of: Makes the specification of workers.
    """

    def __init__(self, run: _core.Run, launchers: Sequence[Launcher], spec_of: SpecOf) -> None:
        self._run = run
        self._launchers = launchers
        self._spec_of = spec_of
        self._commands: queue.SimpleQueue[_Launch | _Kill | _Finish] = queue.SimpleQueue()
        self._handles: dict[int, tuple[Launcher, Handle]] = {}
        # Asked for and not started: short runs end before the last of many workers is needed.
        self._waiting: dict[int, int] = {}
        self._polled: dict[int, float] = {}
        self._finish: _Finish | None = None
        self._abandoned = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="daisy-fleet", daemon=True)
        self._thread.start()

    def launch(self, task: int, workers: Sequence[int]) -> None:
        """Start these workers of a task."""
        self._commands.put(_Launch(task, workers))

    def kill(self, worker: int, *, at_once: bool) -> None:
        """End a worker; one that is not killed at once may tidy up."""
        self._commands.put(_Kill(worker, 0.0 if at_once else _GRACE_SECONDS))

    def finish(self, *, cancel: bool, timeout: float | None = None) -> bool:
        """Wait until every worker has ended; ends them first if ``cancel``."""
        self._commands.put(_Finish(cancel))
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def abandon(self) -> None:
        """Kill every worker at once and wait for none (the second Ctrl-C)."""
        self._abandoned.set()
        for launcher, handle in list(self._handles.values()):
            launcher.cancel([handle], 0.0)

    def _loop(self) -> None:
        while not (self._finish and not self._handles) and not self._abandoned.is_set():
            for command in self._next_commands():
                self._obey(command)
            self._start_some()
            self._poll()
        for launcher in dict.fromkeys(self._launchers):
            launcher.close(cancel=True)

    def _next_commands(self) -> list[_Launch | _Kill | _Finish]:
        """What was asked for; waits a moment if nothing was."""
        wait = self._patience()
        try:
            commands = [self._commands.get(timeout=wait)]
        except queue.Empty:
            return []
        while True:
            try:
                commands.append(self._commands.get_nowait())
            except queue.Empty:
                return commands

    def _patience(self) -> float | None:
        if self._waiting:
            return 0.0
        if not self._handles:
            return None if self._finish is None else 0.0
        if self._finish is not None:
            return _SETTLING_POLL_SECONDS
        return min(launcher.caps.poll_every for launcher, _ in self._handles.values())

    def _obey(self, command: _Launch | _Kill | _Finish) -> None:
        if isinstance(command, _Launch):
            self._waiting.update(dict.fromkeys(command.workers, command.task))
            if self._finish is not None:
                self._forget_waiting(command.workers)
        elif isinstance(command, _Kill):
            self._forget_waiting([command.worker])
            self._cancel([command.worker], command.grace_s)
        else:
            self._finish = command
            self._forget_waiting(list(self._waiting))
            if command.cancel:
                self._cancel(list(self._handles), _GRACE_SECONDS)

    def _forget_waiting(self, workers: Sequence[int]) -> None:
        for worker in workers:
            if self._waiting.pop(worker, None) is not None:
                self._run.worker_exited(worker, True, "not needed any more", "")

    def _start_some(self) -> None:
        """Start some of those asked for, all of one task; others can be cancelled in between."""
        if not self._waiting:
            return
        task = next(iter(self._waiting.values()))
        launcher = self._launchers[task]
        most = (
            launcher.caps.max_batch
            if launcher.caps.remote
            else min(_LOCAL_BATCH, launcher.caps.max_batch)
        )
        workers = [worker for worker, of in self._waiting.items() if of == task][:most]
        for worker in workers:
            del self._waiting[worker]
        self._start(_Launch(task, workers))

    def _start(self, command: _Launch) -> None:
        launcher = self._launchers[command.task]
        workers = list(command.workers)
        while workers:
            batch = workers[: launcher.caps.max_batch]
            del workers[: len(batch)]
            try:
                handles = launcher.launch(len(batch), self._spec_of(command.task, batch))
                problem = "the launcher started fewer workers than it was asked for"
            except LauncherError as error:
                handles, problem = [], str(error)
            except Exception as error:  # noqa: BLE001 - launchers are plugins; the run must hear of it
                logger.warning("launcher %r failed", launcher.name, exc_info=True)
                handles, problem = (
                    [],
                    f"launcher {launcher.name!r}: {type(error).__name__}: {error}",
                )
            started = {int(handle.launch_id): handle for handle in handles}
            for worker in batch:
                if worker in started:
                    self._handles[worker] = (launcher, started[worker])
                else:
                    self._run.worker_exited(worker, False, problem, "")

    def _cancel(self, workers: Sequence[int], grace_s: float) -> None:
        for worker in workers:
            known = self._handles.get(worker)
            if known is not None:
                launcher, handle = known
                launcher.cancel([handle], grace_s)

    def _poll(self) -> None:
        now = time.monotonic()
        by_launcher: dict[int, tuple[Launcher, list[tuple[int, Handle]]]] = {}
        for worker, (launcher, handle) in self._handles.items():
            by_launcher.setdefault(id(launcher), (launcher, []))[1].append((worker, handle))
        for key, (launcher, workers) in by_launcher.items():
            every = launcher.caps.poll_every
            if self._finish is not None and not launcher.caps.remote:
                every = 0.0
            if now - self._polled.get(key, -1e9) < every:
                continue
            self._polled[key] = now
            statuses = launcher.poll([handle for _, handle in workers])
            for worker, handle in workers:
                status = statuses.get(handle, Status(State.UNKNOWN))
                if status.state.is_final or status.hopeless:
                    self._ended(worker, launcher, handle, status)

    def _ended(self, worker: int, launcher: Launcher, handle: Handle, status: Status) -> None:
        del self._handles[worker]
        clean = status.state in (State.EXITED, State.CANCELLED)
        log_tail = getattr(launcher, "log_tail", None)
        text = "" if clean or log_tail is None else log_tail(handle, 50)
        self._run.worker_exited(worker, clean, status.reason or status.state.value, text)
        forget = getattr(launcher, "forget", None)
        if forget is not None:
            forget(handle)
