"""The folder of a run: its secret, what its workers read, and which jobs it has."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from daisy.launchers._protocol import Handle
from daisy.logging import logger

_PREFIX = ".daisy-run-"
_JOBS = "jobs.jsonl"
_OWNER = "owner"


class RunFolder:
    """A folder that only this user can read; workers on other machines see it, too, if there are any.

    As long as the run lives it holds a lock on the file ``owner``. A folder whose lock is free was left by
    a driver that was killed.

    Args:
        shared: Whether other machines must see it.
        log_dir: Folder of logs, which they see; the current folder stands in for it.
    """

    def __init__(self, *, shared: bool, log_dir: Path | None) -> None:
        self._log_dir = log_dir if shared else None
        self._lock = threading.Lock()
        parent = None
        if shared:
            parent = (log_dir or Path.cwd()).absolute()
            parent.mkdir(parents=True, exist_ok=True)
        self.parent = parent
        self.path = Path(
            tempfile.mkdtemp(prefix=_PREFIX if parent else _PREFIX.lstrip("."), dir=parent)
        )
        self._owner = open(self.path / _OWNER, "wb") if shared else None
        if self._owner is not None:
            _try_lock(self._owner.fileno())

    def note(self, task_id: str, handles: Sequence[Handle]) -> None:
        """Write down jobs: for whoever finds this folder, and in the folder of logs."""
        lines = "".join(
            json.dumps(
                {
                    "time": time.time(),
                    "task": task_id,
                    "launcher": handle.launcher,
                    "worker": handle.launch_id,
                    "job": handle.native_id,
                }
            )
            + "\n"
            for handle in handles
        )
        with self._lock:
            for folder in (self.path, self._log_dir):
                if folder is None:
                    continue
                try:
                    with open(folder / _JOBS, "a", encoding="utf-8") as file:
                        file.write(lines)
                except OSError as error:
                    logger.warning("job ids cannot be written to %s: %s", folder / _JOBS, error)

    def left_behind(self) -> Iterator[tuple[Path, list[Handle]]]:
        """Folders beside this one whose drivers are gone, and the jobs that they had."""
        if self.parent is None:
            return
        for folder in sorted(self.parent.glob(f"{_PREFIX}*")):
            if folder == self.path or not folder.is_dir():
                continue
            with contextlib.suppress(OSError), open(folder / _OWNER, "r+b") as owner:
                if _try_lock(owner.fileno()):
                    yield folder, _jobs_of(folder)

    def remove(self, *, jobs_left: bool = False) -> None:
        """The run is over; if jobs may be left, their names stay for whoever runs here next."""
        if jobs_left:
            for path in self.path.iterdir():
                if path.name not in (_JOBS, _OWNER):
                    path.unlink(missing_ok=True)
        else:
            shutil.rmtree(self.path, ignore_errors=True)
        if self._owner is not None:
            self._owner.close()


def tag_of(folder: Path) -> str:
    """What the names of a run's jobs contain, and no other's: the folder's own name has it."""
    return folder.name.removeprefix(".").removeprefix(_PREFIX.lstrip("."))


def _jobs_of(folder: Path) -> list[Handle]:
    handles = []
    with contextlib.suppress(OSError), open(folder / _JOBS, encoding="utf-8") as file:
        for line in file:
            # The last line of a driver that was killed may be cut.
            with contextlib.suppress(ValueError, KeyError):
                job = json.loads(line)
                handles.append(Handle(job["launcher"], job["worker"], job["job"]))
    return handles


def _try_lock(descriptor: int) -> bool:
    """Whether nobody held the lock; it is held from now on until the file is closed."""
    try:
        import fcntl  # noqa: PLC0415 - not on Windows, where no engine of ours is
    except ImportError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return os.fstat(descriptor).st_nlink > 0
