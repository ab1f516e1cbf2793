"""Runs on any engine for the tests to look at."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import daisy
from daisy.launchers import Launcher
from slurm_cluster import wait_until


def run(count: int, function: Any, launcher: Launcher, **options: Any) -> daisy.RunResult:
    """Blocks that may all run at once."""
    roi = daisy.Roi((0,), (10,))
    total = daisy.Roi((0,), (count * 10,))
    options = {"read_write_conflict": False, "launcher": launcher, **options}
    task = daisy.Task("t", total, roi, roi, function, **options)
    return daisy.run_blockwise(task, progress=False, summary=False, host="127.0.0.1")


def once_started(path: Path, act: Callable[[], Any]) -> threading.Thread:
    """Do something when a worker has made a file."""

    def wait() -> None:
        wait_until(path.exists, 60, f"{path.name} is there")
        act()

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread
