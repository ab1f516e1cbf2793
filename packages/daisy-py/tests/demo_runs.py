"""Runs ``python -m daisy.demo`` as a user would, and looks at what it leaves behind."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import zarr

SHAPE = (40, 52, 46)
PASSED = "All checks passed"


def make_input(path: Path, shape: tuple[int, ...] = SHAPE, **attributes: list[float]) -> Path:
    """Blobs and noise: many components, most of which cross block faces."""
    rng = np.random.default_rng(20261130)
    grid = np.meshgrid(*(np.arange(edge) / 4.0 for edge in shape), indexing="ij")
    waves = np.prod([np.sin(axis + index) for index, axis in enumerate(grid)], axis=0)
    voxels = np.clip(120 * waves + rng.normal(120, 30, shape), 0, 255).astype(np.uint8)
    zarr.create_array(
        str(path), data=voxels, chunks=(16,) * len(shape), attributes=dict(attributes)
    )
    return path


def demo(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the demo to its end."""
    return subprocess.run(
        command(*arguments),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "daisy.demo", *map(str, arguments)]


def said(run: subprocess.CompletedProcess[str]) -> str:
    """Everything the user saw, for assertion messages."""
    return f"exit code {run.returncode}\n{run.stdout}\n{run.stderr}"


def assert_refused(run: subprocess.CompletedProcess[str], *words: str) -> None:
    """Exit code 2, and one line that says why."""
    assert run.returncode == 2, said(run)
    assert len(run.stderr.splitlines()) == 1, said(run)
    assert "Traceback" not in run.stderr + run.stdout
    for word in words:
        assert word in run.stderr, said(run)


def array(output: Path, name: str) -> npt.NDArray[Any]:
    return np.asarray(zarr.open_array(str(output / "volumes.zarr" / name), mode="r")[...])


def recorded_workers(output: Path, stage: str) -> Iterator[int]:
    """Process ids of the workers that finished a block of a stage."""
    for path in output.glob(f"records/*/{stage}/*.jsonl"):
        yield int(path.stem.rsplit("-", 1)[1])


def is_alive(pid: int) -> bool:
    """Whether a process runs (one that has ended and waits to be reaped does not)."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rsplit(")", 1)[1].split()[0] != "Z"
