"""A program as a user annotates it: `nox -s typing` reads it with mypy --strict, and it runs."""

from __future__ import annotations

from pathlib import Path

import daisy
from daisy import Block, BlockStatus, Client, Context, Pipeline, RunResult, Task, TaskState


def box(begin: int, shape: int) -> daisy.Roi:
    return daisy.Roi((begin,), (shape,))


def smooth(block: Block) -> None:
    assert block.read_roi.contains(block.write_roi)
    block.status = BlockStatus.SUCCESS


def worker() -> None:
    """Drives a client itself; not called here."""
    context: Context = Context.from_env()
    client = Client(context)
    with client.acquire_block() as block:
        if block is not None:
            smooth(block)


def pipeline(folder: Path) -> Pipeline:
    first = Task("first", box(0, 50), box(0, 10), box(0, 10), smooth, fit="shrink")
    second = Task(
        "second", box(0, 50), box(0, 14), box(2, 10), smooth, tracking_path=folder / "second"
    )
    return first + second


def test_it_runs(tmp_path: Path) -> None:
    result: RunResult = daisy.run_blockwise(
        pipeline(tmp_path), multiprocessing=False, progress=False, summary=False
    )
    states: dict[str, TaskState] = result.raise_for_failures().states
    assert {name: state.completed_count for name, state in states.items()} == {
        "first": 5,
        "second": 4,
    }
