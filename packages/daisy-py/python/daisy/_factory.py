"""The process that workers of one machine are forked from.

It is a fresh interpreter with one thread, which imports daisy and what the functions of the tasks need, once. It has
no connection to the run; each fork of it becomes a worker. What would make a fork other than a fresh interpreter
(threads, open files, random generators) it finds and says, and the driver starts interpreters instead.

The driver speaks to it through a socket of whole messages, each a tuple in the format of ``marshal``:

- ``("function", key)`` with a file: what a worker of some task reads from its input;
- ``("forget", key)``: no more workers of this task;
- ``("start", worker, key, task, context)`` with two files: fork a worker that writes to them;
- ``("reap", worker)``: its exit code has arrived.

Answers are ``("started", worker, pid)``, ``("refused", worker, reason)`` and ``("ended", worker, code)``.
"""

from __future__ import annotations

import contextlib
import gc
import marshal
import os
import select
import signal
import socket
import sys

# What a worker imports for itself is imported here, once for all.
from daisy import _connect as _connect
from daisy import _context as _context
from daisy import _core, _fork, _output
from daisy import worker as workers
from daisy._functions.loads import loads
from daisy._leave import run_and_leave
from daisy._preload import import_ahead
from daisy._settings import CONTEXT_VARIABLE
from daisy._unsafe import descriptors, why_not_fork, why_not_shared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MOST_BYTES = 1 << 20


def main(control: socket.socket, driver: int) -> None:
    """Fork workers for as long as the driver asks for them.

    Args:
        control: Where it asks.
        driver: Its process id.
    """
    if not _core.end_with_parent(driver):
        os._exit(1)
    _fork.makes_workers = True
    kept = control.dup()
    _output.settle()
    # Ctrl-C is for the driver.
    signal.signal(signal.SIGINT, lambda *_: None)
    function = _Factory(kept).serve()
    # From here on this is a worker.
    run_and_leave(lambda: workers.work(lambda: function, has_driver=True))


class _Factory:
    def __init__(self, control: socket.socket) -> None:
        control.setblocking(True)
        self._control = control
        self._pid = os.getpid()
        self._poller = select.poll()
        self._poller.register(control, select.POLLIN)
        # Of each child: what tells of its end, the worker, the process.
        self._children: dict[int, tuple[int, int]] = {}
        self._ended: dict[int, int] = {}
        self._files: dict[int, int] = {}
        self._functions: dict[int, Any] = {}
        self._tainted = ""

    def serve(self) -> Any:
        """Returns only in a fork: the function of its worker."""
        # A system without it has no use for a factory.
        os.close(os.pidfd_open(self._pid))
        while True:
            for descriptor, _ in self._poller.poll():
                if descriptor != self._control.fileno():
                    self._note_end(descriptor)
                    continue
                try:
                    message, files, _, _ = socket.recv_fds(self._control, _MOST_BYTES, 2)
                except OSError:
                    os._exit(0)
                if not message:
                    os._exit(
                        0
                    )  # the driver has no more work; what is left of its workers ends with us
                is_worker, function = self._obey(marshal.loads(message), files)
                if is_worker:
                    return function

    def _obey(self, message: tuple[Any, ...], files: list[int]) -> tuple[bool, Any]:
        match message:
            case ("function", key):
                (self._files[key],) = files
            case ("forget", key):
                self._functions.pop(key, None)
                if key in self._files:
                    os.close(self._files.pop(key))
            case ("reap", worker):
                pid = self._ended.pop(worker, 0)
                if pid:
                    os.waitpid(pid, 0)
            case ("start", worker, key, task, context):
                _write_to(*files)
                try:
                    return self._start(worker, key, task, context)
                finally:
                    if os.getpid() == self._pid:
                        _write_to_nothing()
        return False, None

    def _start(self, worker: int, key: int, task: str, context: str) -> tuple[bool, Any]:
        reason = self._load(key) or why_not_fork()
        pid = 0
        if not reason:
            _flush()
            try:
                pid = os.fork()
            except OSError as error:
                reason = f"it cannot be forked: {error}"
        if reason:
            self._answer("refused", worker, reason)
            return False, None
        if pid == 0:
            return True, self._become_worker(worker, key, task, context)
        # Both do it: whoever signals the group must find it.
        with contextlib.suppress(OSError):
            os.setpgid(pid, pid)
        descriptor = os.pidfd_open(pid)
        self._children[descriptor] = (worker, pid)
        self._poller.register(descriptor, select.POLLIN)
        self._answer("started", worker, pid)
        return False, None

    def _load(self, key: int) -> str:
        """Have the function of a task at hand; returns why no workers can be forked with it."""
        if self._tainted or key in self._functions:
            return self._tainted
        with open(self._files.pop(key), "rb") as file:
            file.seek(8)
            header = marshal.load(file)
        sys.path[:] = header["path"]
        workers.configure_logging(header.get("logging"))
        before = descriptors()
        try:
            function = self._functions[key] = loads(header["payload"])
            import_ahead(function)
        except BaseException as error:  # noqa: BLE001 - the worker that starts instead says it in its log
            self._tainted = f"its function could not be loaded ({type(error).__name__}: {error})"
            return self._tainted
        self._tainted = why_not_shared(before)
        # What is here now is used by all forks: their collectors need not look at it, and so copy it.
        gc.collect()
        gc.freeze()
        return self._tainted

    def _become_worker(self, worker: int, key: int, task: str, context: str) -> Any:
        os.setpgid(0, 0)
        if not _core.end_with_parent(self._pid):
            os._exit(1)
        _fork.makes_workers = False
        self._control.close()
        for descriptor in (*self._children, *self._files.values()):
            os.close(descriptor)
        os.environ[CONTEXT_VARIABLE] = context
        sys.argv[1:] = [f"worker-{worker}", task]
        numpy_random = sys.modules.get("numpy.random")
        if numpy_random is not None:
            numpy_random.seed()  # the random module sees to itself
        return self._functions[key]

    def _note_end(self, descriptor: int) -> None:
        self._poller.unregister(descriptor)
        worker, pid = self._children.pop(descriptor)
        os.close(descriptor)
        # Collected only when the driver knows of it: its number must not become another's before.
        end = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        code = (
            0 if end is None else end.si_status if end.si_code == os.CLD_EXITED else -end.si_status
        )
        self._ended[worker] = pid
        self._answer("ended", worker, code)

    def _answer(self, *answer: str | int) -> None:
        try:
            self._control.send(marshal.dumps(answer))
        except OSError:
            os._exit(0)  # the driver is gone


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            with contextlib.suppress(OSError, ValueError):
                stream.flush()


def _write_to(out: int, err: int) -> None:
    """Write to these files from now on; what is printed while modules are imported is for a worker's log, too."""
    _flush()
    os.dup2(out, 1)
    os.dup2(err, 2)
    os.close(out)
    os.close(err)


def _write_to_nothing() -> None:
    nothing = os.open(os.devnull, os.O_WRONLY)
    _write_to(nothing, os.dup(nothing))
