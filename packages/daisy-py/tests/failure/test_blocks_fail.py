"""What fails costs what DESIGN says it costs: blocks that fail, with real worker processes."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from pathlib import Path
from typing import Any

import daisy
import pytest
from quiet_runs import blocks, run


def make_attempt_counter(folder: Path, fail: Any) -> Any:
    """A block function that notes each attempt with its process, and then does as `fail` says."""

    def process(block: daisy.Block) -> None:
        with open(folder / "attempts", "a") as file:
            file.write(f"{block.block_id[1]} {os.getpid()}\n")
        fail(block)

    return process


def attempts(folder: Path) -> list[tuple[int, int]]:
    """The attempts as block number and process."""
    lines = (folder / "attempts").read_text().splitlines()
    return [(int(line.split()[0]), int(line.split()[1])) for line in lines]


def raise_error(block: daisy.Block) -> None:
    raise ValueError(f"block {block.block_id[1]} is bad")


def set_failed(block: daisy.Block) -> None:
    block.status = daisy.BlockStatus.FAILED


def leave(block: daisy.Block) -> None:
    sys.exit(3)


def interrupt(block: daisy.Block) -> None:
    raise KeyboardInterrupt


def succeed_and_raise(block: daisy.Block) -> None:
    block.status = daisy.BlockStatus.SUCCESS
    raise RuntimeError("after all")


@pytest.mark.parametrize(
    ("fail", "says"),
    [
        (raise_error, "is bad"),
        (set_failed, "FAILED"),
        (leave, "SystemExit"),
        (interrupt, "KeyboardInterrupt"),
        (succeed_and_raise, "after all"),
    ],
)
def test_a_failure_costs_one_attempt_and_the_worker_lives_on(
    tmp_path: Path, fail: Any, says: str
) -> None:
    """Whatever the function does wrong, its worker goes on to the next block."""
    chosen = fail

    def fail_on_odd(block: daisy.Block) -> None:
        if block.block_id[1] % 2:
            chosen(block)

    result = run(blocks(10, make_attempt_counter(tmp_path, fail_on_odd), max_retries=2))
    assert not result
    state = result.states["t"]
    assert (state.completed_count, state.failed_count, state.orphaned_count) == (5, 5, 0)
    assert list(result.failed) == [("t", number) for number in (1, 3, 5, 7, 9)]
    tried = attempts(tmp_path)
    assert sorted(number for number, _ in tried) == sorted([0, 2, 4, 6, 8] + 3 * [1, 3, 5, 7, 9])
    assert len({process for _, process in tried}) == 1, "the worker was replaced"
    assert state.worker_failure_count == 0
    assert says in "\n".join(error.traceback for error in result.errors)
    assert sum(error.count for error in result.errors) == 15


def test_a_failure_that_passes_is_forgiven(tmp_path: Path) -> None:
    """A block that succeeds on its last attempt is completed."""

    def fail_twice(block: daisy.Block) -> None:
        mark = tmp_path / str(block.block_id[1])
        seen = mark.read_text() if mark.exists() else ""
        mark.write_text(seen + "x")
        if len(seen) < 2:
            raise OSError("not yet")

    result = run(blocks(6, fail_twice, max_retries=2, max_workers=2))
    assert result
    assert result.states["t"].completed_count == 6


def test_a_retry_goes_to_another_worker_where_there_is_one(tmp_path: Path) -> None:
    """One worker on which everything fails costs nothing while there is another."""
    (tmp_path / "bad").write_text("")

    def process(block: daisy.Block) -> None:
        # The first process to take the name is the one on which nothing works.
        with contextlib.suppress(FileNotFoundError):
            os.rename(tmp_path / "bad", tmp_path / f"bad-{os.getpid()}")
        (tmp_path / f"here-{os.getpid()}").touch()
        if (tmp_path / f"bad-{os.getpid()}").exists():
            while len(list(tmp_path.glob("here-*"))) < 2:
                threading.Event().wait(0.01)  # the other one is still starting
            # Its second block comes after the server has heard of the failure of the first.
            (tmp_path / ("failed" if (tmp_path / "first").exists() else "first")).touch()
            raise RuntimeError("this node is broken")
        while not (tmp_path / "failed").exists():
            threading.Event().wait(0.01)  # else it may have done all others before, and be gone

    result = run(blocks(30, process, max_retries=2, max_workers=2))
    assert result, result.errors


def test_five_percent_bad_blocks_cost_five_percent() -> None:
    """All good blocks are processed however many bad ones there are, and no worker is lost."""

    def process(block: daisy.Block) -> None:
        if block.block_id[1] % 20 == 7:
            raise ValueError("bad for good")

    result = run(blocks(6000, process, max_workers=2))
    state = result.states["t"]
    assert not result
    assert (state.completed_count, state.failed_count, state.orphaned_count) == (5700, 300, 0)
    assert state.worker_failure_count == 0
    assert state.worker_restart_count == 0
    assert len(result.failed) == 300
    assert ("t", 7) in result.failed
    assert [error.count for error in result.errors] == [900]


def test_dependents_of_a_failed_block_are_orphaned_and_other_branches_go_on() -> None:
    """Only what depends on the failed block is lost."""

    def bad_at_three(block: daisy.Block) -> None:
        if block.block_id[1] == 3:
            raise ValueError("three")

    def fine(block: daisy.Block) -> None:
        pass

    def task(name: str, process: Any, context: int = 0) -> daisy.Task:
        return daisy.Task(
            name,
            daisy.Roi((-context,), (100 + 2 * context,)),
            daisy.Roi((-context,), (10 + 2 * context,)),
            daisy.Roi((0,), (10,)),
            process_function=process,
            read_write_conflict=False,
            max_retries=0,
        )

    first, below = task("first", bad_at_three), task("below", fine, context=1)
    last, other = task("last", fine), task("other", fine)
    result = run((first + below + last) | (first + other))
    counts = {
        name: (s.completed_count, s.failed_count, s.orphaned_count)
        for name, s in result.states.items()
    }
    assert counts == {"first": (9, 1, 0), "below": (7, 0, 3), "last": (7, 0, 3), "other": (9, 0, 1)}
    assert len(result.orphaned) == 7
    with pytest.raises(daisy.errors.RunFailed, match="three") as raised:
        result.raise_for_failures()
    assert raised.value.result is result


def test_nothing_works_so_the_rest_is_not_tried() -> None:
    """After `give_up_after` blocks have failed before any succeeded, the task is abandoned."""

    def process(block: daisy.Block) -> None:
        raise ImportError("no module named torch")

    result = run(blocks(5000, process, max_workers=2, max_retries=1, give_up_after=10))
    state = result.states["t"]
    assert not result
    assert state.abandoned
    assert state.failed_count + state.orphaned_count == 5000
    assert 10 <= state.failed_count <= 12
    assert "give_up_after=10" in str(state.abandon_reason)
    never = run(blocks(60, process, max_retries=0, give_up_after=None))
    assert never.states["t"].failed_count == 60
    assert not never.states["t"].abandoned


def test_a_check_function_that_never_runs_is_refused() -> None:
    """What a coroutine function returns is true: every block would count as done."""

    async def check(block: daisy.Block) -> bool:
        return False

    with pytest.raises(TypeError, match=r"check_function.*async"):
        blocks(3, lambda block: None, check_function=check)
