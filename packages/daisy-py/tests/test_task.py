"""What is wrong with a task is said where it is made."""

from __future__ import annotations

import copy
import functools
import pickle
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import daisy
import numpy
import pytest

TOTAL, READ, WRITE = (
    daisy.Roi((0, 0), (40, 40)),
    daisy.Roi((0, 0), (14, 14)),
    daisy.Roi((2, 2), (10, 10)),
)


def make(**changes: Any) -> daisy.Task:
    arguments: dict[str, Any] = {
        "task_id": "t",
        "total_roi": TOTAL,
        "read_roi": READ,
        "write_roi": WRITE,
        "process_function": lambda block: None,
    }
    return daisy.Task(**{**arguments, **changes})


async def asynchronous(block: Any) -> None: ...


def generator(block: Any) -> Iterator[None]:
    yield


async def asynchronous_generator(block: Any) -> AsyncIterator[None]:
    yield


@functools.wraps(asynchronous)
def wrapped(*args: Any) -> Any:
    return asynchronous(*args)


class AsyncObject:
    async def __call__(self, block: Any) -> None: ...


WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"task_id": 3}, TypeError, "task_id"),
    ({"task_id": ""}, ValueError, "task_id"),
    ({"task_id": "../a"}, ValueError, "task_id"),
    ({"task_id": "a/b"}, ValueError, "task_id"),
    ({"task_id": ".."}, ValueError, "task_id"),
    ({"total_roi": ((0, 0), (9, 9))}, TypeError, "total_roi"),
    ({"total_roi": daisy.Roi((0, 0), (None, None))}, TypeError, "total_roi"),
    ({"total_roi": daisy.Roi((0, 0, 0), (9, 9, 9))}, ValueError, "rank"),
    ({"total_roi": daisy.Roi((2**62, 0), (2**62, 9))}, ValueError, "total_roi"),
    ({"read_roi": daisy.Roi((0,), (9,))}, ValueError, "rank"),
    ({"read_roi": WRITE, "write_roi": READ}, ValueError, "inside"),
    ({"write_roi": daisy.Roi((2, 2), (0, 10))}, ValueError, "write_roi"),
    ({"write_roi": daisy.Roi((2, 2), (-1, 10))}, ValueError, "write_roi"),
    ({"fit": "bogus"}, ValueError, "fit"),
    ({"fit": 3}, TypeError, "fit"),
    ({"max_workers": 0}, ValueError, "max_workers"),
    ({"max_workers": True}, TypeError, "max_workers"),
    ({"max_workers": 1.0}, TypeError, "max_workers"),
    ({"max_retries": -1}, ValueError, "max_retries"),
    ({"max_retries": "2"}, TypeError, "max_retries"),
    ({"max_worker_restarts": -1}, ValueError, "max_worker_restarts"),
    ({"give_up_after": 0}, ValueError, "give_up_after"),
    ({"timeout": 0}, ValueError, "timeout"),
    ({"timeout": float("nan")}, ValueError, "timeout"),
    ({"timeout": -1.0}, ValueError, "timeout"),
    ({"timeout": "60"}, TypeError, "timeout"),
    ({"requires": {"gpu": -1}}, ValueError, "requires"),
    ({"requires": {"gpu": 0.5}}, TypeError, "requires"),
    ({"requires": ["gpu"]}, TypeError, "requires"),
    ({"skip_mask": [[True]]}, ValueError, "skip_mask"),
    ({"skip_mask": "x"}, ValueError, "skip_mask"),
    ({"tracking_path": True}, TypeError, "tracking_path"),
    ({"tracking_path": ""}, ValueError, "tracking_path"),
    ({"tracking_path": "a", "done_marker_path": "b"}, TypeError, "done_marker_path"),
    ({"read_write_conflict": 3}, TypeError, "read_write_conflict"),
    ({"check_function": 3}, TypeError, "check_function"),
    ({"launcher": 3}, TypeError, "launcher"),
    ({"process_function": None}, TypeError, "process_function"),
    ({"process_function": 3}, TypeError, "process_function"),
    ({"process_function": lambda a, b: None}, TypeError, "a, b"),
    ({"process_function": lambda *, x: None}, TypeError, "x"),
    ({"process_function": lambda b, *, x: None}, TypeError, "x"),
    ({"process_function": asynchronous}, TypeError, "async"),
    ({"process_function": functools.partial(asynchronous)}, TypeError, "async"),
    ({"process_function": wrapped}, TypeError, "async"),
    ({"process_function": AsyncObject()}, TypeError, "async"),
    ({"process_function": generator}, TypeError, "generator"),
    ({"process_function": asynchronous_generator}, TypeError, "async"),
    ({"unknown": 3}, TypeError, "unknown"),
    ({"num_workers": 2, "max_workers": 3}, TypeError, "num_workers"),
]


@pytest.mark.parametrize(("changes", "kind", "names"), WRONG)
def test_wrong_arguments(changes: dict[str, Any], kind: type[Exception], names: str) -> None:
    with pytest.raises(kind, match=names):
        make(**changes)


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (lambda block: None, "block"),
        (lambda *args: None, "block"),
        (lambda block=None: None, "block"),
        (functools.partial(lambda a, block: None, 1), "block"),
        (print, "block"),
        (lambda: None, "worker"),
        (lambda **options: None, "worker"),
        (lambda *, context: None, "worker_with_context"),
    ],
)
def test_what_a_function_is_called_with(function: Any, kind: str) -> None:
    assert make(process_function=function).function_kind.value == kind


def test_attributes() -> None:
    task = make(max_workers=3, max_retries=0, timeout=timedelta(minutes=2), requires={"gpu": 1})
    assert (task.task_id, task.total_roi, task.read_roi, task.write_roi) == (
        "t",
        TOTAL,
        READ,
        WRITE,
    )
    assert task.total_write_roi == daisy.Roi((2, 2), (36, 36))
    assert (task.fit, task.max_workers, task.max_retries) == ("valid", 3, 0)
    assert (task.timeout_secs, task.requires) == (120.0, {"gpu": 1})
    assert (task.block_grid_shape, task.skip_mask, task.check_function) == ([3, 3], None, None)
    assert (task.done_marker_path, task.max_worker_restarts) == (None, 10)
    with pytest.raises(AttributeError):
        task.fit = "shrink"  # type: ignore[misc]
    other = make()
    task.process_function = other.process_function
    with pytest.raises(TypeError):
        task.process_function = None
    assert copy.copy(task).process_function is other.process_function
    assert copy.deepcopy(task).task_id == "t"
    with pytest.raises(TypeError, match="pickled"):
        pickle.dumps(task)


@pytest.mark.parametrize("timeout", [None, float("inf"), 1e300])
def test_no_timeout(timeout: Any) -> None:
    assert make(timeout=timeout).timeout_secs is None


def test_former_spellings_say_the_new_word_at_the_callers_line() -> None:
    first = make(task_id="first")
    with pytest.warns(DeprecationWarning, match="max_workers") as caught:
        task = make(num_workers=4)
    assert task.max_workers == 4
    with pytest.warns(DeprecationWarning, match="pipeline"):
        second = make(task_id="second", upstream_tasks=[first])
    with pytest.warns(DeprecationWarning, match="Pipeline"):
        assert getattr(second, "upstream_tasks") == [first]  # noqa: B009 - not annotated any more
    with pytest.warns(DeprecationWarning, match="tracking_path"):
        assert make(done_marker_path="x").tracking_path == "x"
    assert Path(caught[0].filename).name == Path(__file__).name
    with pytest.warns(UserWarning, match="tracking_path"):
        make(check_function=lambda block: False)


def test_a_mask_is_compared_and_not_cast() -> None:
    mask = numpy.zeros((3, 3))
    mask[1, 1] = 0.5
    task = make(skip_mask=mask)
    assert task.skip_mask.sum() == 1
    task.skip_mask[:] = 1
    assert task.skip_mask.sum() == 1
    result = daisy.run_blockwise(task, multiprocessing=False, progress=False, summary=False)
    assert result
    assert result.states["t"].skipped_count == 1
    assert result.states["t"].completed_count == 9


def test_a_volume_smaller_than_its_context_has_no_blocks_and_says_so() -> None:
    with pytest.warns(UserWarning, match="no blocks"):
        task = make(total_roi=daisy.Roi((0, 0), (3, 3)))
    assert daisy.run_blockwise(task, multiprocessing=False, progress=False, summary=False)
