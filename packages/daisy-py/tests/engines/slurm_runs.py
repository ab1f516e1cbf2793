"""Runs on Slurm for the tests to look at."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import daisy
import engine_runs
from daisy.launchers import Slurm
from engine_runs import once_started

__all__ = ["once_started", "run", "touch"]


def run(count: int, function: Any, launcher: Slurm | None = None, **options: Any) -> Any:
    """Blocks that may all run at once, on Slurm."""
    return engine_runs.run(count, function, launcher or Slurm(), **options)


def touch(folder: Path) -> Any:
    """A block function that leaves its job's id in a file."""

    def process(block: daisy.Block) -> None:
        job = f"{os.environ['SLURM_ARRAY_JOB_ID']}_{os.environ['SLURM_ARRAY_TASK_ID']}"
        (folder / f"block-{block.block_id[1]}").write_text(job)

    return process
