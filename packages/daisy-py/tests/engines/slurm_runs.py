"""Runs on Slurm for the tests to look at."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import daisy
from daisy.launchers import Slurm
from slurm_cluster import wait_until


def run(count: int, function: Any, launcher: Slurm | None = None, **options: Any) -> Any:
    """Blocks that may all run at once, on Slurm."""
    roi = daisy.Roi((0,), (10,))
    task = daisy.Task(
        "t",
        daisy.Roi((0,), (count * 10,)),
        roi,
        roi,
        process_function=function,
        read_write_conflict=False,
        launcher=launcher or Slurm(),
        **options,
    )
    return daisy.run_blockwise(task, progress=False, summary=False, host="127.0.0.1")


def touch(folder: Path) -> Any:
    """A block function that leaves its job's id in a file."""

    def process(block: daisy.Block) -> None:
        job = f"{os.environ['SLURM_ARRAY_JOB_ID']}_{os.environ['SLURM_ARRAY_TASK_ID']}"
        (folder / f"block-{block.block_id[1]}").write_text(job)

    return process


def once_started(path: Path, act: Callable[[], Any]) -> threading.Thread:
    """Do something when a worker has made a file."""

    def wait() -> None:
        wait_until(path.exists, 60, f"{path.name} is there")
        act()

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread
