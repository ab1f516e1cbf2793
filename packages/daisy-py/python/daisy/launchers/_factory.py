"""The driver's end of the process that workers are forked from."""

from __future__ import annotations

import contextlib
import marshal
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence

from daisy.logging import logger

_BOOTSTRAP = (
    "import sys,marshal,socket;"
    "s=socket.socket(fileno=0);"
    "sys.path[:]=marshal.loads(s.recv(1<<20));"
    "from daisy._factory import main;"
    "main(s,int(sys.argv[1]))"
)
"""Program of the factory's interpreter: takes over the driver's ``sys.path`` before it imports anything else."""

_MOST_BYTES = 1 << 16
_MOST_FUNCTIONS = 8
_SETTLING_SECONDS = 1.0
_PATIENCE_SECONDS = 10.0


class Fork:
    """A worker that was asked of a factory."""

    def __init__(self, factory: Factory) -> None:
        self._factory = factory
        self._asked_at = time.monotonic()
        self._pid = 0
        self._is_wanted = True
        self.code: int | None = None
        self.is_refused = False

    def poll(self) -> int | None:
        """Its exit code as ``subprocess`` has it, or None; as of the last time that the factory was heard."""
        return self.code

    def signal(self, number: signal.Signals) -> None:
        """Signal it and what it started."""
        if self.code is not None:
            return
        if not self._pid:
            # Not forked yet, and now it need not be.
            self._is_wanted = False
            self.code = -number
            if time.monotonic() - self._asked_at > _PATIENCE_SECONDS:
                self._factory.distrust()
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._pid, number)

    @property
    def is_alive(self) -> bool:
        """Whether it is known to run."""
        return self.code is None and self._pid != 0

    def has_started(self, pid: int) -> None:
        """The factory forked it."""
        self._pid = pid
        if not self._is_wanted:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)

    def has_ended(self, code: int) -> None:
        """The factory saw its end."""
        if self.code is None:
            self.code = code

    def was_refused(self) -> None:
        """The factory cannot fork it."""
        if self.code is None:
            self.is_refused = True

    def lost_its_factory(self) -> None:
        """The factory ended, and with it whatever it had forked."""
        if self._pid:
            self.has_ended(-signal.SIGKILL)
        else:
            self.was_refused()


class Factory:
    """A fresh interpreter that imports what the tasks need once, and forks workers.

    Args:
        interpreter: Command that runs a program that follows.
        env: Its environment, which workers inherit.
        cwd: Its folder.

    Raises:
        OSError: If it cannot be started.
    """

    def __init__(self, interpreter: Sequence[str], env: Mapping[str, str], cwd: str) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._forks: dict[int, Fork] = {}
        self._keys: dict[bytes, int] = {}
        self._next_key = 0
        self.is_usable = True
        try:
            with theirs:
                self._control.setblocking(False)
                self._control.send(marshal.dumps([str(entry) for entry in sys.path]))
                self._process = subprocess.Popen(
                    [*interpreter, _BOOTSTRAP, str(os.getpid())],
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env=dict(env),
                    cwd=cwd or None,
                    process_group=0,
                )
        except OSError:
            self._control.close()
            raise

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def is_idle(self) -> bool:
        """Whether no worker of it lives."""
        return not self._forks

    def start(
        self, worker: int, task: str, context: str, payload: bytes, files: Sequence[int]
    ) -> Fork:
        """Ask for a worker, without waiting for it.

        Raises:
            BlockingIOError: If so much was asked for that there is no room for more now.
            OSError: If the factory has ended.
        """
        key = self._key_of(payload)
        message = marshal.dumps(("start", worker, key, task, context))
        socket.send_fds(self._control, [message], files)
        fork = self._forks[worker] = Fork(self)
        return fork

    def _key_of(self, payload: bytes) -> int:
        """The number under which the factory has this payload; hands it over if it has not."""
        key = self._keys.get(payload)
        if key is not None:
            return key
        if len(self._keys) >= _MOST_FUNCTIONS:
            oldest = next(iter(self._keys))
            self._control.send(marshal.dumps(("forget", self._keys[oldest])))
            del self._keys[oldest]
        key = self._next_key
        with open(os.memfd_create("daisy-function"), "wb") as file:
            file.write(payload)
            file.flush()
            os.lseek(file.fileno(), 0, os.SEEK_SET)
            socket.send_fds(self._control, [marshal.dumps(("function", key))], [file.fileno()])
        self._next_key += 1
        self._keys[payload] = key
        return key

    def hear(self) -> None:
        """Take in what the factory has to say."""
        while True:
            try:
                message = self._control.recv(_MOST_BYTES)
            except BlockingIOError:
                return
            except OSError:
                message = b""
            if not message:
                self._note_end()
                return
            self._note(*marshal.loads(message))

    def _note(self, what: str, worker: int, value: int | str) -> None:
        fork = self._forks.get(worker)
        if fork is None:
            return
        if isinstance(value, str):
            self._stop_using(value)
            fork.was_refused()
            del self._forks[worker]
        elif what == "started":
            fork.has_started(value)
        else:
            fork.has_ended(value)
            del self._forks[worker]
            # Whoever is not collected now is when the factory ends.
            with contextlib.suppress(OSError):
                self._control.send(marshal.dumps(("reap", worker)))

    def _note_end(self) -> None:
        self._stop_using("the process that forks them ended")
        for fork in self._forks.values():
            fork.lost_its_factory()
        self._forks.clear()

    def _stop_using(self, reason: str) -> None:
        if self.is_usable:
            logger.debug("each worker starts as an interpreter of its own: %s", reason)
        self.is_usable = False

    def distrust(self) -> None:
        """Ask it for no more workers: one did not come in time."""
        self._stop_using("the process that forks them hangs")

    def close(self) -> None:
        """End it, and with it what it forked."""
        for fork in self._forks.values():
            fork.signal(signal.SIGKILL)
        until = time.monotonic() + _SETTLING_SECONDS
        while self._forks and any(fork.is_alive for fork in self._forks.values()):
            left = until - time.monotonic()
            if left <= 0 or not select.select([self._control], [], [], left)[0]:
                break
            self.hear()
        self._control.close()
        self._process.kill()
        self._process.wait()
        self._forks.clear()
