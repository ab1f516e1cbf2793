"""Processes that daisy 1.x let programs start themselves."""

from __future__ import annotations

import itertools
import marshal
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

from daisy._compat.warn import warn_of_former
from daisy._context import Context
from daisy._errors import LauncherError
from daisy._settings import CONTEXT_VARIABLE

_BOOTSTRAP = (
    "import sys,marshal;"
    "sys.path[:],payload=marshal.load(sys.stdin.buffer);"
    "from daisy._functions.loads import loads;"
    "loads(payload)()"
)
_STOP_SECONDS = 5.0
_ids = itertools.count()


class Worker:
    """A process that runs a function, as in daisy 1.x.

    Args:
        spawn_function: Called without arguments, in a fresh interpreter; ends when it returns.
        context: What ``DAISY_CONTEXT`` says there; ``worker_id`` is added.
        error_queue: Not used: ``returncode`` says how it ended.
    """

    def __init__(
        self,
        spawn_function: Callable[[], Any],
        context: Context | None = None,
        error_queue: object = None,
    ) -> None:
        if type(self) is Worker:  # a pool has warned of itself
            warn_of_former("Worker(...)", "Task(launcher=...), which starts workers")
        self.spawn_function = spawn_function
        self.worker_id = self.get_next_id()
        self.context = Context() if context is None else context.copy()
        self.context["worker_id"] = str(self.worker_id)
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @staticmethod
    def get_next_id() -> int:
        """A number that no other worker of this process has."""
        return next(_ids)

    @property
    def returncode(self) -> int | None:
        """How it ended: None while it runs."""
        return None if self._process is None else self._process.poll()

    def start(self) -> None:
        """Start the process, unless it runs."""
        if self._process is not None and self.returncode is None:
            return
        from daisy._functions.dumps import dumps  # noqa: PLC0415 - a floor below

        payload = dumps(self.spawn_function, task_id=self.context.get("task_id", "worker"))
        environment = {**os.environ, CONTEXT_VARIABLE: self.context.to_env()}
        self._process = subprocess.Popen(
            [sys.executable, "-c", _BOOTSTRAP], stdin=subprocess.PIPE, env=environment
        )
        # A thread, so that a function larger than a pipe does not wait for an interpreter to start.
        threading.Thread(target=self._feed, args=(payload,), daemon=True).start()

    def _feed(self, payload: bytes) -> None:
        stdin = self._process.stdin if self._process is not None else None
        if stdin is None:
            return
        try:
            with stdin:
                marshal.dump((sys.path, payload), stdin)
        except OSError:
            # It ended before it read: `returncode` says so.
            pass

    def stop(self) -> None:
        """End the process."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class WorkerPool:
    """Processes that run the same function, as in daisy 1.x.

    Args:
        spawn_worker_function: Called without arguments in each of them.
        context: What ``DAISY_CONTEXT`` says there; ``worker_id`` is added.
    """

    def __init__(
        self, spawn_worker_function: Callable[[], Any], context: Context | None = None
    ) -> None:
        warn_of_former("WorkerPool(...)", "Task(max_workers=...), and launcher= to start them")
        self.spawn_worker_function = spawn_worker_function
        self.context = context
        self.workers: dict[int, Worker] = {}

    def set_num_workers(self, num_workers: int) -> None:
        """Start or stop workers until there are so many."""
        self.reap_dead_workers()
        self.inc_num_workers(num_workers - len(self.workers))

    def inc_num_workers(self, num_workers: int) -> None:
        """Start so many more, or stop some if it is negative."""
        for _ in range(num_workers):
            worker = _PoolWorker(self.spawn_worker_function, self.context)
            self.workers[worker.worker_id] = worker
        for worker_id in list(self.workers)[: max(0, -num_workers)]:
            self.stop(worker_id)

    def reap_dead_workers(self) -> None:
        """Forget those that have ended."""
        self.workers = {
            worker_id: worker
            for worker_id, worker in self.workers.items()
            if worker.returncode is None
        }

    def stop(self, worker_id: int | None = None) -> None:
        """End one worker, or all."""
        for each in list(self.workers) if worker_id is None else [worker_id]:
            self.workers.pop(each).stop()

    def check_for_errors(self) -> None:
        """Look whether a worker ended badly.

        Raises:
            LauncherError: If one did.
        """
        for worker_id, worker in self.workers.items():
            if worker.returncode:
                raise LauncherError(
                    f"worker {worker_id} ended with exit code {worker.returncode}, expected 0"
                )


class _PoolWorker(Worker):
    """A worker of a pool."""
