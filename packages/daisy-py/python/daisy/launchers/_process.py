"""Workers as processes of this machine: fresh interpreters, or forks of one; never forks of the driver."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from daisy._errors import LauncherError
from daisy._settings import CONTEXT_VARIABLE, may_fork_workers
from daisy.launchers._console import Console
from daisy.launchers._factories import Factories
from daisy.launchers._factory import Fork
from daisy.launchers._log_files import LogFiles
from daisy.launchers._protocol import Caps, Handle, RunContext, State, Status, WorkerSpec

_PIPE_BYTES = 60_000
"""What a pipe takes without a reader."""


class _Interpreter:
    """A worker that is an interpreter of its own."""

    is_refused = False

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def poll(self) -> int | None:
        """Its exit code, or None."""
        return self._process.poll()

    def signal(self, number: signal.Signals) -> None:
        """Signal it and what it started; it leads a process group of its own."""
        if self._process.returncode is not None:
            return
        # The group may be gone although the process was not waited for.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    def wait(self) -> None:
        """Wait for its end."""
        self._process.wait()


@dataclass
class _Worker:
    process: _Interpreter | Fork
    context: str
    spec: WorkerSpec
    log: Path | None
    log_begin: int
    cancelled: bool = False
    kill_at: float | None = None


class ProcessLauncher:
    """Starts each worker as a process that leads a group of its own.

    Where it is safe they are forked from a process that is made for it; otherwise each is a fresh interpreter.

    Args:
        may_fork: False for fresh interpreters only; a run that opens it decides anew.
    """

    name = "process"
    caps = Caps()

    def __init__(self, *, may_fork: bool = True) -> None:
        self._workers: dict[str, _Worker] = {}
        self._factories = Factories()
        self._factories.are_allowed = may_fork
        self._console = Console()
        self._logs = LogFiles()

    def prepare(self, spec: WorkerSpec) -> None:
        """Start the process that workers are forked from: an interpreter takes as long as it takes to make a run."""
        # A wrong setting is an error before anything starts.
        self._factories.are_allowed = may_fork_workers()
        self._factories.get(spec, _environment(spec))

    def open(self, run: RunContext) -> None:
        """Look at the setting, so that a wrong one is an error before anything starts."""
        self._factories.are_allowed = may_fork_workers()

    def launch(self, n: int, spec: WorkerSpec) -> list[Handle]:
        """Start ``n`` interpreters."""
        handles: list[Handle] = []
        for worker, context in list(zip(spec.workers, spec.contexts, strict=True))[:n]:
            try:
                started, called = self._start(worker, context, spec)
            except BlockingIOError:
                break  # so many are starting that the others have to be asked for again
            except OSError as error:
                if handles:
                    break
                raise LauncherError(
                    f"a worker process for task {spec.task_id!r} cannot be started: {error}",
                    retryable=True,
                ) from error
            self._workers[str(worker)] = started
            handles.append(Handle(self.name, str(worker), called))
        return handles

    def _start(
        self, worker: int, context: str, spec: WorkerSpec, *, may_fork: bool = True
    ) -> tuple[_Worker, str]:
        """Start a worker; returns it and what its process is called."""
        env = _environment(spec)
        factory = self._factories.get(spec, env) if may_fork else None
        with contextlib.ExitStack() as opened:
            files, log = self._logs.open(worker, spec, opened)
            # Logs are appended to: what an earlier run wrote is not this worker's last word.
            log_begin = files[1].tell() if files else 0
            is_piped = spec.log_mode == "both" and files is not None
            sources, outputs = _pipes(opened) if is_piped else (None, files or _console(opened))
            process: _Interpreter | Fork
            if factory is not None:
                numbers = [
                    output if isinstance(output, int) else output.fileno() for output in outputs
                ]
                process = factory.start(worker, spec.task_id, context, spec.payload, numbers)
                called = f"fork {worker} of {factory.pid}"
            else:
                started = subprocess.Popen(
                    [*spec.argv, f"worker-{worker}", spec.task_id],
                    stdin=subprocess.PIPE,
                    stdout=outputs[0],
                    stderr=outputs[1],
                    env={**env, CONTEXT_VARIABLE: context},
                    cwd=spec.cwd or None,
                    # Ctrl-C in a terminal is for the driver, which ends its workers; and what a worker
                    # starts is ended with it.
                    process_group=0,
                )
                _feed(started, spec.payload)
                process, called = _Interpreter(started), str(started.pid)
            if sources is not None and files is not None:
                self._console.tee(sources, files)
                opened.pop_all()
                for output in outputs:
                    if not isinstance(output, int):
                        output.close()
        return _Worker(process, context, spec, log, log_begin), called

    def poll(self, handles: Sequence[Handle]) -> Mapping[Handle, Status]:
        """Look at the processes; kills those whose notice is over."""
        self._factories.hear()
        self._logs.look_for_room_now_and_then()
        return {handle: self._status(handle) for handle in handles}

    def _status(self, handle: Handle) -> Status:
        worker = self._workers.get(handle.launch_id)
        if worker is None:
            return Status(State.LOST, "it is not known")
        if worker.process.is_refused:
            try:
                again, _ = self._start(
                    int(handle.launch_id), worker.context, worker.spec, may_fork=False
                )
            except OSError as error:
                return Status(State.FAILED, f"it cannot be started: {error}")
            worker.process = again.process
        code = worker.process.poll()
        if code is None:
            if worker.kill_at is not None and time.monotonic() >= worker.kill_at:
                worker.process.signal(signal.SIGKILL)
            return Status(State.RUNNING)
        state = State.CANCELLED if worker.cancelled else State.FAILED if code else State.EXITED
        return Status(state, reason_of(code), code)

    def cancel(self, handles: Sequence[Handle], grace_s: float) -> None:
        """Ask the processes to end, and kill them after ``grace_s``."""
        for handle in handles:
            worker = self._workers.get(handle.launch_id)
            if worker is None or worker.process.poll() is not None:
                continue
            worker.cancelled = True
            worker.process.signal(signal.SIGTERM if grace_s > 0 else signal.SIGKILL)
            worker.kill_at = time.monotonic() + grace_s

    def log_tail(self, handle: Handle, n: int = 50) -> str:
        """The last lines that a worker wrote to its error output."""
        worker = self._workers.get(handle.launch_id)
        if worker is None or worker.log is None:
            return ""
        return tail_of(worker.log, n, worker.log_begin)

    def forget(self, handle: Handle) -> None:
        """A worker that ended will not be asked for again."""
        self._workers.pop(handle.launch_id, None)

    def close(self, cancel: bool = True) -> None:
        """Kill what is left."""
        left = [worker.process for worker in self._workers.values()]
        for process in left:
            if cancel:
                process.signal(signal.SIGKILL)
        for process in left:
            if isinstance(process, _Interpreter):
                process.wait()
        self._factories.close()
        self._console.close()
        self._logs.look_for_room()


def _environment(spec: WorkerSpec) -> dict[str, str]:
    """The environment of workers, but for what tells them apart."""
    return {**os.environ, **spec.env, **spec.secret_env}


def _pipes(
    opened: contextlib.ExitStack,
) -> tuple[tuple[IO[bytes], IO[bytes]], tuple[IO[bytes], IO[bytes]]]:
    """Ends to read the outputs of a process from, and ends for the process to write to."""
    pairs = []
    for _ in range(2):
        reader, writer = os.pipe()
        pairs.append(
            (
                opened.enter_context(open(reader, "rb")),
                opened.enter_context(open(writer, "wb", buffering=0)),
            )
        )
    return (pairs[0][0], pairs[1][0]), (pairs[0][1], pairs[1][1])


def _console(opened: contextlib.ExitStack) -> tuple[int | IO[bytes], int | IO[bytes]]:
    """The outputs of this process, as far as it has any: where one was closed, its number is another file's now."""
    first, second = (
        opened.enter_context(open(os.devnull, "wb")) if stream is None else number
        for number, stream in ((1, sys.__stdout__), (2, sys.__stderr__))
    )
    return first, second


def reason_of(code: int) -> str:
    """An exit code in words."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"


def tail_of(path: Path, lines: int, begin: int = 0, most_bytes: int = 8192) -> str:
    """The last lines of what was written to a file after its first ``begin`` bytes."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(begin, size - most_bytes))
            text = file.read().decode(errors="replace")
    except OSError:
        return ""
    return "\n".join(text.splitlines()[-lines:])


def _feed(process: subprocess.Popen[bytes], payload: bytes) -> None:
    """Write the payload to a worker's input, without waiting for a slow one."""
    stream = process.stdin
    if stream is None:
        return

    def write() -> None:
        # A worker that is gone already reads nothing; its end is seen by poll.
        with contextlib.suppress(OSError):
            stream.write(payload)
        with contextlib.suppress(OSError):
            stream.close()

    if len(payload) <= _PIPE_BYTES:
        write()
    else:
        threading.Thread(target=write, name="daisy-payload", daemon=True).start()
