"""Arguments that cannot work are refused where they are written, in words."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import daisy
import pytest
from faults.program import run_well


def nothing(block: daisy.Block) -> None:
    """Process a block."""


def box(*shape: int) -> daisy.Roi:
    """A box from the origin."""
    return daisy.Roi((0,) * len(shape), shape)


def task(**changes: Any) -> daisy.Task:
    """A task that is fine but for the changes."""
    arguments: dict[str, Any] = {
        "task_id": "t",
        "total_roi": box(40),
        "read_roi": box(10),
        "write_roi": box(10),
        "process_function": nothing,
    }
    return daisy.Task(**{**arguments, **changes})


IMPOSSIBLE: list[tuple[dict[str, Any], str]] = [
    ({"write_roi": box(0), "read_roi": box(0)}, "write_roi|write ROI|shape"),
    ({"write_roi": daisy.Roi((0,), (-5,))}, "write|shape"),
    ({"total_roi": box(8, 40, 40), "read_roi": box(10, 10), "write_roi": box(10, 10)}, "dim|axes"),
    ({"total_roi": box(40, 40)}, "dim|axes"),
    ({"read_roi": daisy.Roi((5,), (10,))}, "read"),
    ({"fit": "bogus"}, "fit"),
    ({"max_retries": -1}, "retr"),
    ({"max_workers": 0}, "max_workers"),
    ({"max_worker_restarts": -1}, "restart"),
    ({"requires": {"gpu": -1}}, "gpu"),
    ({"requires": ["gpu"]}, "requires"),
    ({"timeout": 0}, "timeout"),
    ({"timeout": float("nan")}, "timeout"),
    ({"timeout": "soon"}, "timeout"),
    ({"process_function": None}, "process_function"),
    ({"process_function": 7}, "process_function"),
    ({"check_function": 7}, "check_function"),
    ({"task_id": ""}, "task_id|name"),
    ({"task_id": "   "}, "task_id.*blank"),
    ({"task_id": "../victim"}, "task_id|name"),
    ({"task_id": "/absolute"}, "task_id|name"),
    ({"task_id": 7}, "task_id"),
    ({"total_roi": daisy.Roi((0,), (2**63 + 10,))}, "total_roi|int64|64"),
    ({"total_roi": daisy.Roi((2**63 - 5,), (10,))}, "total_roi|int64|64|end"),
    ({"total_roi": daisy.Roi((None,), (None,))}, "total_roi"),
    ({"total_roi": (0, 40)}, "total_roi"),
    ({"skip_mask": [1, 0]}, "skip_mask"),
    ({"read_write_conflict": "yes"}, "read_write_conflict"),
    ({"tracking_path": True}, "tracking_path"),
    ({"tracking_path": ""}, "tracking_path"),
]


@pytest.mark.parametrize(("changes", "names"), IMPOSSIBLE)
def test_impossible_arguments(changes: dict[str, Any], names: str) -> None:
    with pytest.raises((TypeError, ValueError), match=names) as caught:
        task(**changes)
    assert type(caught.value).__module__ in ("builtins", "daisy.errors", "daisy")


def test_a_volume_smaller_than_its_context_has_no_blocks() -> None:
    with pytest.warns(UserWarning, match="no blocks"):
        small = task(total_roi=box(4), read_roi=box(30), write_roi=daisy.Roi((10,), (10,)))
    assert small.block_grid_shape == [0]
    assert daisy.run_blockwise(small, multiprocessing=False, progress=False, summary=False)


NO_PIPELINE: list[tuple[Any, str]] = [
    (["x"], "task"),
    ("x", "task"),
    (7, "task|pipeline"),
    ({"a": 1}, "task|pipeline"),
    (None, "task|pipeline"),
    ([None], "task"),
]
RUNS: list[Callable[[Any], Any]] = [
    daisy.run_blockwise,
    lambda tasks: daisy.run_blockwise(tasks, multiprocessing=False),
    daisy.Scheduler,
]


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize(("value", "names"), NO_PIPELINE)
def test_what_is_no_pipeline(run: Callable[[Any], Any], value: Any, names: str) -> None:
    with pytest.raises(TypeError, match=names):
        run(value)


@pytest.mark.parametrize("shape", [(100_000_000,), (2000, 500, 1000)])
def test_the_first_of_very_many_blocks_is_there_at_once(
    tmp_path: Path, shape: tuple[int, ...]
) -> None:
    program = f"""
    import resource

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    total, block = boxes(*(10 * n for n in {shape})), boxes(*(10 for _ in {shape}))
    task = daisy.Task("t", total, block, block, lambda block: None)
    first = daisy.Scheduler(task).acquire_block("t")
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(json.dumps([first.block_id, grown // 1024]))
    """
    block_id, grown = json.loads(run_well(tmp_path, program, timeout=30))
    assert block_id[0] == "t"
    assert grown < 100
