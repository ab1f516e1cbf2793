"""Pipelines: how they are put together, and what is wrong with some."""

from __future__ import annotations

from typing import Any

import daisy
import pytest

ROI = daisy.Roi((0,), (20,))
BLOCK = daisy.Roi((0,), (10,))


def task(name: str, **options: Any) -> daisy.Task:
    return daisy.Task(name, ROI, BLOCK, BLOCK, lambda block: None, **options)


def names(tasks: list[daisy.Task]) -> list[str]:
    return [one.task_id for one in tasks]


def test_operators() -> None:
    a, b, c, d = map(task, "abcd")
    diamond = a + (b | c) + d
    assert names(diamond.tasks) == list("abcd")
    edges = {(up.task_id, down.task_id) for up, down in diamond.edges}
    assert edges == {("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")}
    assert (names(diamond.sources), names(diamond.outputs)) == (["a"], ["d"])
    both = (a + b) | (b + c)
    assert (names(both.sources), names(both.outputs)) == (["a"], ["c"])
    assert names(daisy.Pipeline([a, b], [(a, b)]).outputs) == ["b"]


@pytest.mark.parametrize("other", [3, "x", [1]])
def test_operands_of_other_types(other: Any) -> None:
    with pytest.raises(TypeError):
        task("a") + other
    with pytest.raises(TypeError):
        (task("a") | task("b")) | other


def test_what_is_wrong() -> None:
    a, b = task("a"), task("b")
    with pytest.raises(ValueError, match="once"):
        daisy.Pipeline([a, a])
    with pytest.raises(ValueError, match="edges"):
        daisy.Pipeline([a], [(a, b)])
    with pytest.raises(TypeError, match=r"daisy\.Task"):
        daisy.run_blockwise(["x"])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="pipeline"):
        daisy.run_blockwise(3)  # type: ignore[call-overload]
    for wrong, says in ((a | task("a"), "duplicate"), (a + b + a, "a -> b -> a")):
        with pytest.raises(ValueError, match=says):
            daisy.run_blockwise(wrong, multiprocessing=False, progress=False)


def test_a_deep_chain_of_upstream_tasks_runs() -> None:
    last = task("t0")
    for number in range(1, 1500):
        with pytest.warns(DeprecationWarning, match="upstream_tasks"):
            last = task(f"t{number}", upstream_tasks=[last])
    states = daisy.run_blockwise(
        [last], multiprocessing=False, progress=False, summary=False, return_states=True
    )
    assert len(states) == 1500
    assert all(state.completed_count == 2 for state in states.values())


def test_plan_tells_without_running() -> None:
    def explode(block: Any) -> None:
        raise AssertionError

    wide = daisy.Task(
        "wide",
        daisy.Roi((0, 0), (104, 104)),
        daisy.Roi((0, 0), (14, 14)),
        daisy.Roi((2, 2), (10, 10)),
        explode,
    )
    forecast = daisy.plan(wide)
    (entry,) = forecast.tasks
    assert (entry.blocks, entry.levels, entry.parallelism) == (100, 4, 25)
    assert entry.read_per_write == pytest.approx(1.96)
    assert "wide" in str(forecast)
    beyond = daisy.Task("beyond", daisy.Roi((500,), (20,)), BLOCK, BLOCK, lambda block: None)
    assert "does not" in str(daisy.plan(task("a") + beyond)) or "do not wait" in str(
        daisy.plan(task("a") + beyond)
    )


def test_resources_that_a_run_does_not_have() -> None:
    with pytest.raises(ValueError, match="gpu"):
        daisy.run_blockwise(task("a", requires={"gpu": 2}), resources={"gpu": 1}, progress=False)


def test_nothing_to_run() -> None:
    assert daisy.run_blockwise([], summary=False, progress=False)
    assert daisy.run_blockwise([], return_states=True, summary=False, progress=False) == {}
