"""All workers of one launcher, kept by one thread that lives as long as they do."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from daisy import _core
from daisy._errors import LauncherError
from daisy.launchers._clocks import Clock
from daisy.launchers._protocol import Handle, Launcher, State, Status, WorkerSpec
from daisy.logging import logger

_GRACE_SECONDS = 0.5
_SETTLING_POLL_SECONDS = 0.002
_REMOTE_SETTLING_POLL_SECONDS = 0.25
_LONGEST_POLL_SECONDS = 15.0
_LOCAL_BATCH = 4
_FIRST_RETRY_SECONDS = 0.5
_LONGEST_RETRY_SECONDS = 60.0
_ABANDON_SECONDS = 5.0
# Workers in a row that the engine ended before they could connect, and that are replaced free of charge.
_MOST_ENDED_EARLY = 20

SpecOf = Callable[[int, Sequence[int]], WorkerSpec]
"""The specification of these workers of the task at this position."""
Returned = Callable[[int], bool]
"""Whether the launch function of this worker has returned."""
Started = Callable[[int, Sequence[Handle]], None]
"""Takes note of workers that were started for the task at this position."""


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


@dataclass
class _Known:
    handle: Handle
    clock: Clock
    since: float
    was_connected: bool = False
    cancelled: bool = False


class Fleet:
    """Calls a launcher on a thread of its own, so that a slow one holds up nothing.

    The thread ends only after the last worker: the system ends a worker when the thread that started it ends.

    Args:
        run: Told when workers end; knows which are connected.
        launcher: Starts and ends the workers.
        spec_of: Makes the specification of workers.
        started: Hears of every worker that was started.
        returned: Knows which launch functions have returned.
    """

    def __init__(
        self,
        run: _core.Run,
        launcher: Launcher,
        spec_of: SpecOf,
        started: Started | None = None,
        returned: Returned | None = None,
    ) -> None:
        self._run = run
        self._launcher = launcher
        self._caps = launcher.caps
        self._spec_of = spec_of
        self._started = started
        self._returned = returned
        self._commands: queue.SimpleQueue[_Launch | _Kill | _Finish] = queue.SimpleQueue()
        self._known: dict[int, _Known] = {}
        self._waiting: list[tuple[int, int]] = []
        self._retry_at = 0.0
        self._retry_pause = _FIRST_RETRY_SECONDS
        self._polled_at = -1e9
        self._connected: set[int] = set()
        self._finish: _Finish | None = None
        self._ended_early = 0
        self._abandoned = threading.Event()
        self._thread = threading.Thread(
            target=self._loop, name=f"daisy-fleet-{launcher.name}", daemon=True
        )
        self._thread.start()

    def launch(self, task: int, workers: Sequence[int]) -> None:
        """Start these workers of a task."""
        self._commands.put(_Launch(task, workers))

    def kill(self, worker: int, *, at_once: bool) -> None:
        """End a worker; one that is not killed at once may tidy up."""
        self._commands.put(_Kill(worker, 0.0 if at_once else _GRACE_SECONDS))

    def begin_finish(self, *, cancel: bool) -> None:
        """Start no more workers; end those there are if ``cancel``."""
        self._commands.put(_Finish(cancel))

    def join(self, timeout: float | None = None) -> bool:
        """Wait until every worker has ended; whether that is so."""
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def abandon(self) -> None:
        """Kill every worker at once and wait for none (the second Ctrl-C)."""
        self._abandoned.set()
        if self._caps.remote:
            # Its thread cancels all, and may be waiting for an engine that is silent.
            self.begin_finish(cancel=True)
            self.join(_ABANDON_SECONDS)
        else:
            self._launcher.cancel([known.handle for known in list(self._known.values())], 0.0)

    def left(self) -> list[Handle]:
        """Workers that may live on after the end, because the engine was not heard of since."""
        if self._thread.is_alive() and self._caps.remote:
            return [known.handle for known in list(self._known.values())]
        left: Callable[[], list[Handle]] | None = getattr(self._launcher, "left", None)
        return [] if left is None else left()

    def _loop(self) -> None:
        while not (self._finish and not self._known) and not self._abandoned.is_set():
            self._obey(self._next_commands())
            self._start_waiting()
            self._poll()
        self._launcher.close(cancel=True)

    def _next_commands(self) -> list[_Launch | _Kill | _Finish]:
        """What was asked for; waits a moment if nothing was."""
        try:
            commands = [self._commands.get(timeout=self._patience())]
        except queue.Empty:
            return []
        while True:
            try:
                commands.append(self._commands.get_nowait())
            except queue.Empty:
                return commands

    def _patience(self) -> float | None:
        if self._finish is not None:
            remote = self._caps.remote
            return (
                (_REMOTE_SETTLING_POLL_SECONDS if remote else _SETTLING_POLL_SECONDS)
                if self._known
                else 0.0
            )
        if self._waiting and time.monotonic() >= self._retry_at:
            return 0.0
        return self._caps.poll_every if self._known or self._waiting else None

    def _obey(self, commands: Sequence[_Launch | _Kill | _Finish]) -> None:
        kills: dict[float, list[int]] = {}
        for command in commands:
            if isinstance(command, _Launch):
                self._waiting.extend((command.task, worker) for worker in command.workers)
            elif isinstance(command, _Kill):
                kills.setdefault(command.grace_s, []).append(command.worker)
            else:
                self._finish = command
                if command.cancel:
                    kills.setdefault(_GRACE_SECONDS, []).extend(self._known)
        for grace_s, workers in kills.items():
            self._cancel(workers, grace_s)
        if self._finish is not None:
            self._forget_waiting({worker for _, worker in self._waiting})

    def _forget_waiting(self, workers: set[int]) -> None:
        """Workers that the launcher was not yet asked for, or had no room for, are not wanted any more."""
        for task, worker in list(self._waiting):
            if worker in workers:
                self._waiting.remove((task, worker))
                self._run.worker_exited(worker, True, "not wanted any more", "")

    def _start_waiting(self) -> None:
        if not self._waiting or time.monotonic() < self._retry_at:
            return
        # Some of those asked for, all of one task. Local ones a few at a time: short runs end before the last
        # of many workers is needed, and those can be cancelled in between.
        most = (
            self._caps.max_batch if self._caps.remote else min(_LOCAL_BATCH, self._caps.max_batch)
        )
        task = self._waiting[0][0]
        chosen = [entry for entry in self._waiting if entry[0] == task][:most]
        self._waiting = [entry for entry in self._waiting if entry not in set(chosen)]
        if self._start(task, [worker for _, worker in chosen]):
            self._retry_pause = _FIRST_RETRY_SECONDS
            self._retry_at = 0.0
        else:
            self._retry_at = time.monotonic() + self._retry_pause

    def _start(self, task: int, workers: Sequence[int]) -> bool:
        """Ask the launcher; whether it took all of them, or never will."""
        name = self._launcher.name
        try:
            handles = self._launcher.launch(len(workers), self._spec_of(task, workers))
        except LauncherError as error:
            if error.retryable and self._caps.can_queue:
                logger.warning("launcher %r: %s; tried again", name, error)
                self._retry_pause = min(2 * self._retry_pause, _LONGEST_RETRY_SECONDS)
                self._waiting.extend((task, worker) for worker in workers)
                return False
            return self._failed(workers, str(error))
        except Exception as error:  # noqa: BLE001 - launchers are plugins; the run must hear of it
            logger.warning("launcher %r failed", name, exc_info=True)
            return self._failed(workers, f"launcher {name!r}: {type(error).__name__}: {error}")
        now = time.monotonic()
        started = {int(handle.launch_id): handle for handle in handles}
        for worker, handle in started.items():
            clock = Clock(f"{name} worker {worker} ({handle.native_id})", now)
            self._known[worker] = _Known(handle, clock, now)
        if self._started is not None and handles:
            self._started(task, handles)
        self._waiting.extend((task, worker) for worker in workers if worker not in started)
        return len(started) == len(workers)

    def _failed(self, workers: Sequence[int], problem: str) -> bool:
        for worker in workers:
            self._run.worker_exited(worker, False, problem, "")
        return True

    def _cancel(self, workers: Sequence[int], grace_s: float) -> None:
        self._forget_waiting(set(workers))
        known = [self._known[worker] for worker in workers if worker in self._known]
        for worker in known:
            worker.cancelled = True
        if known:
            self._launcher.cancel([worker.handle for worker in known], grace_s)
            self._polled_at = -1e9

    def _poll(self) -> None:
        asked = self._to_ask()
        if not asked:
            return
        self._polled_at = time.monotonic()
        try:
            statuses: Mapping[Handle, Status] = self._launcher.poll(
                [known.handle for known in asked.values()]
            )
        except Exception:  # noqa: BLE001 - launchers are plugins, and one that is silent is no death
            logger.warning("launcher %r cannot be asked", self._launcher.name, exc_info=True)
            return
        for worker, known in asked.items():
            status = statuses.get(known.handle, Status(State.UNKNOWN))
            if status.gone and (known.was_connected or self._finish is not None):
                # That it has ended is enough: it has said itself how, or nobody wants it any more.
                status = Status(State.EXITED, status.reason)
            if status.state.is_final:
                self._ended(worker, known, status)
            elif worker not in self._connected and not known.cancelled:
                self._judge(worker, known, status)

    def _to_ask(self) -> dict[int, _Known]:
        """Whom to ask the engine about: that a worker is connected is known without it."""
        now = time.monotonic()
        if not self._known:
            return {}
        if not self._caps.remote:
            due = self._finish is not None or now - self._polled_at >= self._caps.poll_every
            if due:
                self._note_connected()
            return dict(self._known) if due else {}
        self._note_connected()
        asked: dict[int, _Known] = {}
        wait = _LONGEST_POLL_SECONDS
        for worker, known in self._known.items():
            connected = worker in self._connected
            if connected:
                self._ended_early = 0
            if known.was_connected and not connected:
                known.since = now  # something happened to it: ask often
            known.was_connected = connected
            if not connected or known.cancelled or self._finish is not None:
                asked[worker] = known
                wait = min(wait, (now - known.since) / 10)
        if self._finish is not None or any(known.cancelled for known in asked.values()):
            wait = 0.0
        return asked if now - self._polled_at >= max(wait, self._caps.poll_every) else {}

    def _note_connected(self) -> None:
        self._connected = set(self._run.connected_workers())
        for worker in self._connected & self._known.keys():
            self._known[worker].clock.stop()

    def _judge(self, worker: int, known: _Known, status: Status) -> None:
        why = known.clock.judge(status, self._caps, self._run.addresses, time.monotonic())
        if why:
            self._launcher.cancel([known.handle], 0.0)
            self._ended(worker, known, Status(State.FAILED, why, node=status.node))

    def _ended(self, worker: int, known: _Known, status: Status) -> None:
        del self._known[worker]
        clean = status.state in (State.EXITED, State.CANCELLED)
        outside = status.outside and self._ended_early < _MOST_ENDED_EARLY
        if status.outside and not known.was_connected:
            self._ended_early += 1
        log_tail = getattr(self._launcher, "log_tail", None)
        # One that ended well and never connected is a riddle that its output may solve.
        is_plain = clean and (known.was_connected or not self._caps.remote)
        text = "" if is_plain or log_tail is None else log_tail(known.handle, 50)
        reason = status.reason or status.state.value
        if status.state is State.EXITED and self._returned is not None and self._returned(worker):
            # The worker may be in a queue, or run: its connection says so, or the limit of its wait.
            self._run.worker_detached(worker, reason, text)
        else:
            self._run.worker_exited(worker, clean, reason, text, outside=outside)
        forget = getattr(self._launcher, "forget", None)
        if forget is not None:
            forget(known.handle)
