"""Masks and resumes of tasks with very many blocks: what is skipped costs by the region."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import daisy
import numpy as np
import pytest

SHAPE = (1000, 1000, 100)
MOST_SECONDS = 5.0
"""Ten times what it may take on a machine that does nothing else."""


class Stop(Exception):
    """Ends a serial run at its first block."""


def first_block(
    shape: tuple[int, ...] = SHAPE, **options: Any
) -> tuple[float, tuple[int, ...] | None]:
    """Seconds from the call to the first block that has to run, and that block."""
    zero, one = (0,) * len(shape), (1,) * len(shape)
    began = ended = 0.0
    found: list[tuple[int, ...]] = []

    def process(block: daisy.Block) -> None:
        nonlocal ended
        ended = time.perf_counter()
        found.append(tuple(block.write_roi.begin))
        raise Stop

    options = {"read_write_conflict": False, **options}
    task = daisy.Task(
        "t", daisy.Roi(zero, shape), daisy.Roi(zero, one), daisy.Roi(zero, one), process, **options
    )
    began = time.perf_counter()
    try:
        assert daisy.run_blockwise(task, multiprocessing=False, progress=False, summary=False)
        ended = time.perf_counter()
    except Stop:
        pass
    return ended - began, found[0] if found else None


def write_store(path: Path, first: int, done: int) -> None:
    """Mark ``done`` blocks from ``first`` on as done, by writing what a run would have written."""
    zarr: Any = pytest.importorskip("zarr")
    first_block((1, 1, 1), tracking_path=path / "small")
    zero, one = (0, 0, 0), (1, 1, 1)
    task = daisy.Task(
        "t", daisy.Roi(zero, SHAPE), daisy.Roi(zero, one), daisy.Roi(zero, one), lambda block: None,
        skip_mask=lambda roi: True, tracking_path=path / "store",
    )  # fmt: skip
    assert daisy.run_blockwise(task, multiprocessing=False, progress=False, summary=False)
    array = zarr.open_array(path / "store" / "done", mode="r+")
    rows = SHAPE[2] * SHAPE[1]
    array[first // rows : (first + done) // rows] = 1


@pytest.mark.parametrize("conflict", [False, True])
@pytest.mark.parametrize(("first", "done"), [(0, 10**8), (0, 5 * 10**7), (5 * 10**7, 5 * 10**7)])
def test_a_large_task_resumes_at_once(
    tmp_path: Path, first: int, done: int, conflict: bool
) -> None:
    write_store(tmp_path, first, done)
    seconds, block = first_block(tracking_path=tmp_path / "store", read_write_conflict=conflict)
    print(f"{seconds:.3f} s")
    if done == 10**8:
        assert block is None
    else:
        assert block is not None
        assert (block[0] < SHAPE[0] // 2) == (first > 0)
    assert seconds < MOST_SECONDS


def test_a_large_mask_is_applied_at_once(tmp_path: Path) -> None:
    zarr: Any = pytest.importorskip("zarr")
    mask = np.random.default_rng(0).random(SHAPE, dtype=np.float32) < 0.01
    mask[0] = True
    for value in (mask, tmp_path / "mask.zarr"):
        if isinstance(value, Path):
            zarr.create_array(value, data=mask.view("u1"))
        seconds, block = first_block(skip_mask=value)
        print(f"{seconds:.3f} s")
        assert block is not None
        assert not mask[block]
        assert seconds < MOST_SECONDS


def test_a_function_says_of_regions_what_is_masked() -> None:
    asked: list[daisy.Roi] = []

    def outside_a_ball(roi: daisy.Roi) -> bool | None:
        asked.append(roi)
        low = np.array(roi.begin) + 0.5 - np.array(SHAPE) / 2
        high = low + np.array(roi.shape) - 1
        nearest = np.where((low <= 0) & (high >= 0), 0, np.minimum(abs(low), abs(high)))
        if (nearest**2).sum() > 10**2:
            return True
        return False if (np.maximum(abs(low), abs(high)) ** 2).sum() <= 10**2 else None

    seconds, block = first_block(skip_mask=outside_a_ball)
    print(f"{seconds:.3f} s")
    assert block is not None
    assert outside_a_ball(daisy.Roi(block, (1, 1, 1))) is False
    assert len(asked) < 10_000
    assert seconds < MOST_SECONDS


def test_a_function_masks_the_same_as_an_array() -> None:
    shape, offset, size = (7, 5), (-3, 11), (4, 2)
    cells = np.random.default_rng(3).random(shape) < 0.4
    ran: dict[str, set[tuple[int, ...]]] = {"array": set(), "function": set()}

    def says(roi: daisy.Roi) -> bool | None:
        begin = [
            (at - start) // step for at, start, step in zip(roi.begin, offset, size, strict=True)
        ]
        end = [
            first + side // step for first, side, step in zip(begin, roi.shape, size, strict=True)
        ]
        part = cells[tuple(map(slice, begin, end))]
        return True if part.all() else None if part.any() else False

    total = daisy.Roi(offset, [count * step for count, step in zip(shape, size, strict=True)])
    for name, mask in (("array", cells), ("function", says)):

        def process(block: daisy.Block, seen: set[tuple[int, ...]] = ran[name]) -> None:
            seen.add(tuple(block.write_roi.begin))

        block = daisy.Roi((0, 0), size)
        task = daisy.Task("t", total, block, block, process, skip_mask=mask, tracking_path=False)
        result = daisy.run_blockwise(task, multiprocessing=False, progress=False, summary=False)
        assert result.states["t"].skipped_count == cells.sum()
    assert ran["array"] == ran["function"]
    assert len(ran["array"]) == (~cells).sum()


@pytest.mark.parametrize(
    ("mask", "error", "text"),
    [
        ("no/such/mask.zarr", ValueError, "the path of a zarr array"),
        (np.zeros(4), ValueError, "shape"),
        (["a"] * 5, TypeError, "an array of booleans or numbers"),
    ],
)
def test_masks_that_are_none_are_refused(mask: object, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        first_block((5,), skip_mask=mask)


def test_a_function_that_cannot_decide_is_refused() -> None:
    with pytest.raises(ValueError, match="expected True"):
        first_block((5,), skip_mask=lambda roi: None)
