"""Calls ``check_function`` for several blocks at once, beside everything else."""

from __future__ import annotations

import queue
import threading
from collections.abc import Sequence

from daisy import _core
from daisy._task import Task

_MOST_THREADS = 8
"""Checks wait for disks and networks more than they compute."""


class Checks:
    """Threads that ask whether blocks are done already; they are started when there is something to ask.

    Args:
        run: Told the answers.
        tasks: Have the functions, by position.

    Attributes:
        error: What the first check that failed raised; nothing is asked after it.
    """

    def __init__(self, run: _core.Run, tasks: Sequence[Task]) -> None:
        self._run = run
        self._tasks = tasks
        self._asked: queue.SimpleQueue[_core.Request.Check | None] = queue.SimpleQueue()
        self._threads = 0
        self._has_ended = threading.Event()
        self.error: BaseException | None = None

    def ask(self, request: _core.Request.Check) -> None:
        """Have a block checked."""
        self._asked.put(request)
        if self._threads < _MOST_THREADS:
            self._threads += 1
            # A check that hangs must not keep the interpreter from ending.
            threading.Thread(target=self._answer, name="daisy-check", daemon=True).start()

    def end(self) -> None:
        """Ask nothing more; what is being checked is not waited for."""
        self._has_ended.set()
        for _ in range(self._threads):
            self._asked.put(None)

    def _answer(self) -> None:
        while (request := self._asked.get()) is not None and not self._has_ended.is_set():
            try:
                check = self._tasks[request.task].check_function
                answer = check is not None and check(request.block)
                _core.refuse_unfinished(answer, "check_function")
                done = bool(answer)
            except BaseException as error:  # noqa: BLE001 - the run ends with it, in the driver's thread
                self.error = self.error or error
                self._has_ended.set()
                return
            self._run.checked(request.task, request.index, done)
