"""A function that returns something to wait for has not done its work, however plain it looks."""

from __future__ import annotations

from typing import Any

import daisy
import pytest
from quiet_runs import blocks, run

MODES: dict[str, dict[str, Any]] = {
    "process": {},
    "thread": {"worker_processes": False},
    "serial": {"multiprocessing": False},
}


async def later(block: daisy.Block) -> bool:
    return True


class Awaitable:
    def __await__(self) -> Any:
        yield


RETURNED = {
    "coroutine": lambda block: later(block),
    "generator": lambda block: (number for number in range(3)),
    "Awaitable": lambda block: Awaitable(),
}


@pytest.mark.parametrize("what", ["coroutine", "Awaitable"])
@pytest.mark.parametrize("mode", MODES)
def test_what_a_block_function_returns(mode: str, what: str) -> None:
    task = blocks(2, RETURNED[what], max_retries=0)
    expected = f"the block function returned a {what}, so its work is not done"
    if mode == "serial":
        with pytest.raises(TypeError, match=expected):
            run(task, **MODES[mode])
        return
    result = run(task, **MODES[mode])
    assert result.states["t"].failed_count == 2
    assert expected in result.errors[0].summary


@pytest.mark.parametrize("what", RETURNED)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.filterwarnings("ignore:check_function")
def test_what_a_check_returns(mode: str, what: str) -> None:
    """It is never taken for yes."""
    task = blocks(2, lambda block: None, check_function=RETURNED[what])
    with pytest.raises(TypeError, match=f"the check_function returned a {what}"):
        run(task, **MODES[mode])


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_what_an_init_callback_returns() -> None:
    task = blocks(2, lambda block: None, init_callback_fn=lambda context: later(context))
    with pytest.raises(TypeError, match="the init_callback_fn returned a coroutine"):
        run(task)


def test_what_a_worker_function_returns() -> None:
    task = blocks(2, lambda: later(None))
    result = run(task)
    assert result.states["t"].abandoned
    assert "the function of the task returned a coroutine" in str(result.states["t"].abandon_reason)
