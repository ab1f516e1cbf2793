"""More and fewer workers while a task runs, and none between stages."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from typing import Any

import daisy
import pytest

linux = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")
ROI = daisy.Roi((0,), (10,))


def wait_until(found: Any) -> None:
    pause = threading.Event()
    while not found():
        pause.wait(0.01)


def stage(name: str, function: Any, blocks: int, **options: Any) -> daisy.Task:
    total = daisy.Roi((0,), (blocks * 10,))
    return daisy.Task(name, total, ROI, ROI, function, read_write_conflict=False, **options)


def set_when(task: daisy.Task, path: Path, number: int) -> threading.Thread:
    def change() -> None:
        wait_until(path.exists)
        task.max_workers = number

    thread = threading.Thread(target=change, daemon=True)
    thread.start()
    return thread


def test_more_workers_come_while_a_task_runs(tmp_path: Path) -> None:
    def process(block: daisy.Block) -> None:
        (tmp_path / f"pid-{os.getpid()}").touch()
        wait_until(lambda: len(list(tmp_path.glob("pid-*"))) == 3)

    task = stage("t", process, 20)
    before, after = task.max_workers, 3
    threads = [set_when(task, tmp_path, after)]
    assert daisy.run_blockwise(task, progress=False, summary=False)
    threads[0].join()
    assert (before, task.max_workers) == (1, after)


@linux
def test_a_task_pauses_without_workers_and_goes_on(tmp_path: Path) -> None:
    """Those that are too many end after their block; later ones are others."""

    def process(block: daisy.Block) -> None:
        (tmp_path / f"pid-{os.getpid()}").touch()
        if block.block_id[1] == 0:
            wait_until((tmp_path / "paused").exists)

    task = stage("t", process, 200, max_workers=1)
    first: list[int] = []

    def pause_and_go_on() -> None:
        wait_until(lambda: list(tmp_path.glob("pid-*")))
        first.append(int(next(tmp_path.glob("pid-*")).name.split("-")[1]))
        task.max_workers = 0
        (tmp_path / "paused").touch()
        wait_until(lambda: is_over(first[0]))
        task.max_workers = 2

    thread = threading.Thread(target=pause_and_go_on, daemon=True)
    thread.start()
    assert daisy.run_blockwise(task, progress=False, summary=False)
    thread.join()
    assert len(list(tmp_path.glob("pid-*"))) >= 2


@linux
def test_the_workers_of_a_stage_end_with_it(tmp_path: Path) -> None:
    """No worker sits through the stages after its own."""

    def first(block: daisy.Block) -> None:
        (tmp_path / f"first-{os.getpid()}").touch()

    def second(block: daisy.Block) -> None:
        pids = [int(path.name.split("-")[1]) for path in tmp_path.glob("first-*")]
        wait_until(lambda: all(is_over(pid) for pid in pids))

    total = daisy.Roi((0,), (40,))
    # All of the second stage reads all of the first.
    gather = daisy.Task("gather", total, total, total, second)
    pipeline = stage("spread", first, 4, max_workers=2) + gather
    assert daisy.run_blockwise(pipeline, progress=False, summary=False)


def is_over(pid: int) -> bool:
    """Whether a process is no more, or waits to be reaped."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.mark.parametrize("wrong", [-1, 1.5, "two", None])
def test_a_wrong_number_is_refused(wrong: Any) -> None:
    task = stage("t", lambda block: None, 1)
    with pytest.raises((TypeError, ValueError), match="max_workers"):
        task.max_workers = wrong
    assert task.max_workers == 1
