"""The output folder: whose it is, what it was made with, and room for what is to come."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import zarr

from daisy.demo.errors import BadInput
from daisy.demo.job import STAGES, Job

_MANIFEST = "demo.json"
_OURS = (
    "volumes.zarr",
    "touches",
    "merged.npz",
    "records",
    "tracking",
    "logs",
    "demo.png",
    "report.html",
    _MANIFEST,
)
_MEGABYTE = 10**6


def prepare(job: Job, *, restart: bool) -> bool:
    """Make the output folder ready for a job.

    Returns:
        Whether an earlier run with the same settings left its results there.
    """
    output = Path(job.output)
    try:
        output.mkdir(parents=True, exist_ok=True)
        before = _manifest(output)
        if before is not None and restart:
            _clear(output)
            before = None
        if before is None:
            _write_manifest(output, job.settings())
        else:
            _require_same(output, before, job.settings())
    except OSError as error:
        raise BadInput(f"--output: cannot write to {output}: {error.strerror}") from error
    return before is not None


def require_space(job: Job) -> None:
    """Refuse to start what would fill the disk.

    Counts the denoised volume in full (noise hardly compresses), and two bytes a voxel for the
    rest (labels compress well).
    """
    voxels = math.prod(job.world.shape)
    needed = voxels * (np.dtype(job.dtype).itemsize + 2)
    missing = sum(blocks_to_do(job).values()) / sum(job.block_count(stage) for stage in STAGES)
    free = shutil.disk_usage(job.output).free
    if free < needed * missing:
        raise BadInput(
            f"--output: no space in {job.output}: {free // _MEGABYTE} MB free; "
            f"expected at least {math.ceil(needed * missing / _MEGABYTE)} MB"
        )


def blocks_to_do(job: Job) -> dict[str, int]:
    """Blocks of each stage that no earlier run has done, from the tracking stores."""
    return {stage: job.block_count(stage) - _done(job, stage) for stage in STAGES}


def _done(job: Job, stage: str) -> int:
    path = job.tracking(stage) / "done"
    if not path.is_dir():
        return 0
    return int(np.count_nonzero(np.asarray(zarr.open_array(str(path), mode="r")[...])))


def _manifest(output: Path) -> dict[str, Any] | None:
    path = output / _MANIFEST
    if path.is_file():
        try:
            settings = json.loads(path.read_text())
        except ValueError as error:
            raise BadInput(f"--output: {path} is damaged: {error}") from error
        if isinstance(settings, dict):
            return settings
    held = sorted(entry.name for entry in output.iterdir())
    if held:
        raise BadInput(
            f"--output: {output} holds {held[0]!r}, which daisy demo did not make; "
            f"expected a new or empty folder, or one of an earlier demo"
        )
    return None


def _write_manifest(output: Path, settings: dict[str, Any]) -> None:
    part = output / (_MANIFEST + ".part")
    part.write_text(json.dumps(settings, indent=2) + "\n")
    part.replace(output / _MANIFEST)


def _require_same(output: Path, before: dict[str, Any], now: dict[str, Any]) -> None:
    changed = [
        f"{name} {before.get(name)} (now {now.get(name)})"
        for name in sorted(before.keys() | now.keys())
        if before.get(name) != now.get(name)
    ]
    if changed:
        raise BadInput(
            f"--output: {output} was made with {', '.join(changed)}; "
            f"use --restart to begin anew, or another --output"
        )


def _clear(output: Path) -> None:
    """Remove what earlier demos made, by name; whatever else is there stays."""
    for name in _OURS:
        path = output / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
