"""Does the result hold? Judged by SciPy on the whole volume, not by daisy."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from daisy.demo.arrays import load
from daisy.demo.job import STAGES, Job
from daisy.demo.records import noted, noted_ever
from daisy.demo.world import Ints


@dataclass(frozen=True)
class Check:
    """One thing that must hold.

    Attributes:
        passed: Whether it does.
        text: What was looked at, and what was found.
    """

    passed: bool
    text: str


@dataclass(frozen=True)
class Tally:
    """What the run said about one stage.

    Attributes:
        total: Blocks of the stage.
        completed: Blocks done by this run.
        skipped: Blocks done by an earlier run.
        lost: Blocks that failed or were orphaned.
        again: Attempts that may have come after a finished one (dead workers, timeouts, failures).
    """

    total: int
    completed: int
    skipped: int
    lost: int
    again: int


def check_all(job: Job, run: str, tallies: Mapping[str, Tally]) -> list[Check]:
    """Check the volumes and the books."""
    smooth = ndimage.gaussian_filter(load(job.source).astype(job.dtype), job.sigma)
    denoised = _check_denoised(load(job.array("denoised")), smooth)
    expected, count = ndimage.label(smooth > job.threshold)
    labels = _check_labels(load(job.array("labels")), expected, int(count))
    return [denoised, labels, check_blocks(job, run, tallies)]


def _check_denoised(found: npt.NDArray[Any], expected: npt.NDArray[Any]) -> Check:
    """To the last bit: compared as bytes, so that not even -0 and 0 pass for the same."""
    word = f"u{expected.itemsize}"
    same_kind = found.dtype == expected.dtype and found.shape == expected.shape
    wrong = int(np.count_nonzero(found.view(word) != expected.view(word))) if same_kind else -1
    name = "denoised volume and scipy.ndimage.gaussian_filter on the whole volume"
    if wrong == 0:
        return Check(True, f"{name} are equal to the last bit ({found.size:,} voxels)")
    return Check(False, f"{name} differ in {wrong if same_kind else found.size:,} voxels")


def _check_labels(found: npt.NDArray[Any], expected: npt.NDArray[Any], count: int) -> Check:
    """Equal up to renaming: one name of ours for each of SciPy's, and no name for two."""
    ours = np.zeros(count + 1, found.dtype)
    ours[expected.ravel()] = found.ravel()
    same = np.array_equal(ours[expected], found) and ours[0] == 0
    one_to_one = len(np.unique(ours)) == count + 1
    name = "components and those of scipy.ndimage.label on the whole volume"
    if same and one_to_one:
        return Check(True, f"{name} are the same {count:,}")
    return Check(False, f"{name} differ: expected {count:,}, got {len(np.unique(found)) - 1:,}")


def check_blocks(job: Job, run: str, tallies: Mapping[str, Tally]) -> Check:
    """Every block once: in the result of the run, and in the demo's own records."""
    faults = [fault for stage in STAGES for fault in _faults(job, run, stage, tallies[stage])]
    if faults:
        return Check(False, f"not every block was done exactly once: {'; '.join(faults)}")
    total = sum(tally.total for tally in tallies.values())
    skipped = sum(tally.skipped for tally in tallies.values())
    again = sum(tally.again for tally in tallies.values())
    earlier = f", {skipped:,} of them by an earlier run" if skipped else ""
    lost = f", {again:,} attempts lost on the way" if again else ""
    return Check(True, f"every block was done exactly once ({total:,} blocks{earlier}{lost})")


def _faults(job: Job, run: str, stage: str, tally: Tally) -> list[str]:
    blocks, now = job.block_count(stage), noted(job, run, stage)
    extra = now.total() - len(now)
    found = {
        f"{tally.total} blocks instead of {blocks}": tally.total != blocks,
        f"{tally.lost} blocks failed or orphaned": tally.lost > 0,
        f"{tally.completed} completed and {tally.skipped} skipped of {blocks}": (
            tally.completed + tally.skipped != blocks
        ),
        f"{tally.completed} completed, but {len(now)} recorded": len(now) != tally.completed,
        # A worker that is killed after the last write of a block and before its report leaves
        # a finished block that is rightly done again: as many as the run says.
        f"{extra} recorded twice, but {tally.again} done again": extra > tally.again,
        "the recorded blocks are not those that tile the volume": (
            set(noted_ever(job, stage)) != _begins(job, stage)
        ),
    }
    return [f"{stage}: {fault}" for fault, holds in found.items() if holds]


def _begins(job: Job, stage: str) -> set[Ints]:
    """Where blocks begin, in voxels: a grid that this demo lays itself."""
    shape = job.world.shape
    steps = shape if stage == "merge" else job.block_shape
    return set(itertools.product(*map(range, (0,) * len(shape), shape, steps)))
