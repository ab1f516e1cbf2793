"""Workers as processes of this machine: a fresh interpreter each, never a fork of the driver."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from daisy._errors import LauncherError
from daisy._settings import CONTEXT_VARIABLE
from daisy.launchers._console import Console
from daisy.launchers._protocol import Caps, Handle, RunContext, State, Status, WorkerSpec
from daisy.logging import logger

_PIPE_BYTES = 60_000
"""What a pipe takes without a reader."""


@dataclass
class _Worker:
    process: subprocess.Popen[bytes]
    log: Path | None
    log_begin: int
    cancelled: bool = False
    kill_at: float | None = None


class ProcessLauncher:
    """Starts workers with ``subprocess``, each in a process group of its own."""

    name = "process"
    caps = Caps()

    def __init__(self) -> None:
        self._workers: dict[str, _Worker] = {}
        self._console = Console()
        self._log_warned = False

    def open(self, run: RunContext) -> None:
        """Nothing to get ready."""

    def launch(self, n: int, spec: WorkerSpec) -> list[Handle]:
        """Start ``n`` interpreters."""
        handles: list[Handle] = []
        for worker, context in list(zip(spec.workers, spec.contexts, strict=True))[:n]:
            try:
                started = self._start(worker, context, spec)
            except OSError as error:
                if handles:
                    break
                raise LauncherError(
                    f"a worker process for task {spec.task_id!r} cannot be started: {error}",
                    retryable=True,
                ) from error
            self._workers[str(worker)] = started
            handles.append(Handle(self.name, str(worker), str(started.process.pid)))
        return handles

    def _start(self, worker: int, context: str, spec: WorkerSpec) -> _Worker:
        env = {**os.environ, **spec.env, **spec.secret_env, CONTEXT_VARIABLE: context}
        with contextlib.ExitStack() as opened:
            files, log = self._open_logs(worker, spec, opened)
            # Logs are appended to: what an earlier run wrote is not this worker's last word.
            log_begin = files[1].tell() if files else 0
            piped = subprocess.PIPE if files is None or spec.log_mode == "both" else None
            if spec.log_mode == "console" and files is None:
                piped = None
            process = subprocess.Popen(
                [*spec.argv, f"worker-{worker}", spec.task_id],
                stdin=subprocess.PIPE,
                stdout=files[0] if files and piped is None else piped,
                stderr=files[1] if files and piped is None else piped,
                env=env,
                cwd=spec.cwd or None,
                # Ctrl-C in a terminal is for the driver, which ends its workers; and what a worker
                # starts is ended with it.
                process_group=0,
            )
            if piped is not None and files is not None:
                self._console.tee(process, files)
                opened.pop_all()
        _feed(process, spec.payload)
        return _Worker(process, log, log_begin)

    def _open_logs(
        self, worker: int, spec: WorkerSpec, opened: contextlib.ExitStack
    ) -> tuple[tuple[IO[bytes], IO[bytes]] | None, Path | None]:
        if spec.log_dir is None or spec.log_mode == "console":
            return None, None
        base = spec.log_dir / f"worker_{worker}"
        try:
            spec.log_dir.mkdir(parents=True, exist_ok=True)
            out = opened.enter_context(open(f"{base}.out", "ab"))
            err = opened.enter_context(open(f"{base}.err", "ab"))
        except OSError as error:
            if not self._log_warned:
                logger.warning(
                    "worker logs cannot be written, output goes to the console: %s", error
                )
            self._log_warned = True
            return None, None
        return (out, err), Path(f"{base}.err")

    def poll(self, handles: Sequence[Handle]) -> Mapping[Handle, Status]:
        """Look at the processes; kills those whose notice is over."""
        now = time.monotonic()
        states = {}
        for handle in handles:
            worker = self._workers.get(handle.launch_id)
            if worker is None:
                states[handle] = Status(State.LOST, "it is not known")
                continue
            code = worker.process.poll()
            if code is None:
                if worker.kill_at is not None and now >= worker.kill_at:
                    _signal(worker.process, signal.SIGKILL)
                states[handle] = Status(State.RUNNING)
                continue
            state = State.CANCELLED if worker.cancelled else State.FAILED if code else State.EXITED
            states[handle] = Status(state, reason_of(code), code)
        return states

    def cancel(self, handles: Sequence[Handle], grace_s: float) -> None:
        """Ask the processes to end, and kill them after ``grace_s``."""
        for handle in handles:
            worker = self._workers.get(handle.launch_id)
            if worker is None or worker.process.poll() is not None:
                continue
            worker.cancelled = True
            _signal(worker.process, signal.SIGTERM if grace_s > 0 else signal.SIGKILL)
            worker.kill_at = time.monotonic() + grace_s

    def log_tail(self, handle: Handle, n: int = 50) -> str:
        """The last lines that a worker wrote to its error output."""
        worker = self._workers.get(handle.launch_id)
        if worker is None or worker.log is None:
            return ""
        return tail_of(worker.log, n, worker.log_begin)

    def forget(self, handle: Handle) -> None:
        """A worker that ended will not be asked for again."""
        worker = self._workers.pop(handle.launch_id, None)
        if worker is not None and worker.process.stdin is not None:
            with contextlib.suppress(OSError):
                worker.process.stdin.close()

    def close(self, cancel: bool = True) -> None:
        """Kill what is left."""
        if cancel:
            for worker in self._workers.values():
                _signal(worker.process, signal.SIGKILL)
        for worker in self._workers.values():
            worker.process.wait()
        self._console.close()


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


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Signal a worker and what it started; it leads a process group of its own."""
    if process.returncode is not None:
        return
    # The group may be gone although the process was not waited for.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


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
