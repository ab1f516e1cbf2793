"""Chains with real workers: the clock says that no two conflicting blocks ever ran at once."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import daisy
import pytest
from daisy._task import Fit


def make_recorder(folder: Path, pause: float) -> Any:
    """A block function that writes down when it ran, on the clock that all processes share."""

    def record(block: daisy.Block) -> None:
        begin = time.monotonic_ns()
        # Long enough that two blocks that may overlap do, now and then.
        while time.monotonic_ns() - begin < pause * 1e9:
            pass
        name, number = block.block_id
        text = json.dumps(
            {
                "task": name,
                "id": number,
                "read": [list(block.read_roi.begin), list(block.read_roi.end)],
                "write": [list(block.write_roi.begin), list(block.write_roi.end)],
                "begin": begin,
                "end": time.monotonic_ns(),
            }
        )
        (folder / f"{name}-{number}.json").write_text(text)

    return record


def meet(one: list[list[int]], other: list[list[int]]) -> bool:
    """Whether two boxes, as begin and end, share a point."""
    return all(
        max(a, c) < min(b, d) for a, b, c, d in zip(one[0], one[1], other[0], other[1], strict=True)
    )


@pytest.mark.parametrize("worker_processes", [True, False], ids=["process", "thread"])
def test_no_two_conflicting_blocks_overlap_in_time(tmp_path: Path, worker_processes: bool) -> None:
    """Three tasks of different block shape and context, four workers each, every pair compared."""
    record = make_recorder(tmp_path, 0.002)

    def task(name: str, block: tuple[int, int], lower: int, upper: int, fit: Fit) -> daisy.Task:
        return daisy.Task(
            name,
            daisy.Roi((-8, -8), (56, 56)),
            daisy.Roi((-lower, -lower), (block[0] + lower + upper, block[1] + lower + upper)),
            daisy.Roi((0, 0), block),
            process_function=record,
            fit=fit,
            max_workers=4,
            worker_processes=worker_processes,
        )

    first = task("first", (8, 8), 2, 3, "shrink")
    second = task("second", (6, 10), 0, 7, "overhang")
    third = task("third", (9, 9), 4, 0, "valid")
    result = daisy.run_blockwise(first + second + third, progress=False, summary=False)
    assert result, result.errors

    records = [json.loads(path.read_text()) for path in tmp_path.glob("*.json")]
    totals = {name: state.total_block_count for name, state in result.states.items()}
    assert len(records) == sum(totals.values())
    upstream = {"first": [], "second": ["first"], "third": ["second"]}
    for one in records:
        for other in records:
            if one["task"] in upstream[other["task"]] and meet(one["write"], other["read"]):
                assert one["end"] <= other["begin"], f"{other} began before {one} ended"
            if one is other or one["task"] != other["task"]:
                continue
            if meet(one["read"], other["write"]):
                apart = one["end"] <= other["begin"] or other["end"] <= one["begin"]
                assert apart, f"{one} and {other} overlap"


def test_an_order_dependent_function_gives_the_same_voxels_every_time() -> None:
    """Conflicting blocks run in one order, so a function that reads its neighbours' results is reproducible."""
    numpy = pytest.importorskip("numpy")

    def run(max_workers: int, serial: bool) -> Any:
        data = numpy.ones((24, 24), dtype=numpy.int64)

        def smear(block: daisy.Block) -> None:
            read = block.read_roi.intersect(daisy.Roi((0, 0), data.shape))
            value = data[read.to_slices()].sum() % 1000
            data[block.write_roi.to_slices()] += value

        task = daisy.Task(
            "smear",
            daisy.Roi((-2, -2), (28, 28)),
            daisy.Roi((-2, -2), (8, 8)),
            daisy.Roi((0, 0), (4, 4)),
            process_function=smear,
            max_workers=max_workers,
            worker_processes=False,
        )
        assert daisy.run_blockwise(task, multiprocessing=not serial, progress=False, summary=False)
        return data

    expected = run(1, serial=True)
    for _ in range(3):
        assert (run(4, serial=False) == expected).all()
