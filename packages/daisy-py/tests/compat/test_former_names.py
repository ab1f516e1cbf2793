"""daisy 1.x runs unchanged, and each spelling says once, at the caller's line, what to write instead."""

from __future__ import annotations

import importlib
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import daisy
import pytest

BOX = daisy.Roi((0,), (10,))
TOTAL = daisy.Roi((0,), (50,))


def nothing(block: daisy.Block) -> None:
    """Process a block."""


def new_task(name: str = "t", **options: Any) -> Any:
    """A task of five blocks; Any, because attributes of 1.x are not annotated."""
    return daisy.Task(name, TOTAL, BOX, BOX, nothing, **options)


def call_former(name: str, *arguments: Any) -> Any:
    """Call a name that has no annotations any more."""
    return getattr(daisy, name)(*arguments)


# What is written, and the words of today that the warning must have.
SPELLINGS: list[tuple[Callable[[], Any], str]] = [
    (lambda: new_task(num_workers=2), "max_workers"),
    (lambda: new_task(upstream_tasks=[new_task("u")]), "pipeline"),
    (lambda: new_task(init_callback_fn=print), "run_blockwise"),
    (lambda: new_task(done_marker_path=False), "tracking_path"),
    (lambda: new_task().num_workers, "max_workers"),
    (lambda: new_task().timeout, "timeout_secs"),
    (lambda: new_task().upstream_tasks, "Pipeline"),
    (lambda: new_task().orig_total_roi, "total_roi"),
    (lambda: new_task().spawn_worker_function, "process_function"),
    (lambda: call_former("SerialServer"), "multiprocessing=False"),
    (lambda: call_former("expand_roi_to_grid", BOX, TOTAL, BOX, BOX), "snap_to_grid"),
    (lambda: call_former("expand_write_roi_to_grid", BOX, BOX), "snap_to_grid"),
    (lambda: call_former("get_done_marker_basedir"), "get_tracking_basedir"),
    (lambda: call_former("set_done_marker_basedir", None), "set_tracking_basedir"),
    (lambda: call_former("WorkerPool", nothing), "max_workers"),
    (lambda: importlib.import_module("daisy.cl_monitor").CLMonitor(daisy.Server()), "progress"),
]


@pytest.mark.parametrize(("spelling", "today"), SPELLINGS)
def test_one_warning_at_the_line_of_the_caller(spelling: Callable[[], Any], today: str) -> None:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        spelling()
    assert [warning.category for warning in said] == [DeprecationWarning]
    assert today in str(said[0].message)
    assert said[0].filename == __file__


MODULES = {
    "blocks": ["expand_roi_to_grid", "expand_write_roi_to_grid"],
    "client": ["Client"],
    "context": ["Context"],
    "convenience": ["run_blockwise"],
    "coordinate": ["Coordinate"],
    "dependency_graph": ["BlockwiseDependencyGraph", "DependencyGraph"],
    "freezable": ["Freezable"],
    "roi": ["Roi"],
    "scheduler": ["Scheduler"],
    "serial_server": ["SerialServer"],
    "server": ["Server"],
    "server_observer": ["ServerObservee", "ServerObserver"],
    "task": ["Task"],
    "task_state": ["TaskState"],
    "worker_pool": ["WorkerPool"],
}
STILL_MODULES = {
    "block": ["Block", "BlockStatus"],
    "cl_monitor": ["CLMonitor"],
    "logging": ["set_log_basedir", "get_worker_log_basename", "LOG_BASEDIR"],
    "v1_compat": ["Task", "SerialServer", "run_blockwise"],
    "v2": ["Task", "BlockStats", "run_blockwise"],
    "worker": ["Worker"],
}
IMPORT = """
import warnings
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    {statement}
print(len(said), *(f"{{w.category.__name__}} {{w.filename}}:{{w.lineno}}" for w in said))
"""


@pytest.mark.parametrize(("module", "names"), [*MODULES.items(), *STILL_MODULES.items()])
@pytest.mark.parametrize(
    "form", ["from daisy.{module} import {names}", "import daisy; daisy.{module}"]
)
def test_module_paths(tmp_path: Path, module: str, names: list[str], form: str) -> None:
    script = tmp_path / "script.py"
    statement = form.format(module=module, names=", ".join(names))
    script.write_text(IMPORT.format(statement=statement))
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    expected = f"1 DeprecationWarning {script}:5" if module in MODULES else "0"
    assert done.stdout.strip() == expected


def test_what_2_0_0_had_too_is_no_former_name() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        task = new_task()
        assert task.total_write_roi == TOTAL
        assert daisy.run_blockwise([task], multiprocessing=False, progress=False, summary=False)
        assert daisy.Scheduler([task]).acquire_block("t") is not None
        assert daisy.get_worker_log_basename(3, "t") is not None


def test_only_the_leaf_task_is_passed() -> None:
    ran: list[tuple[str | None, int]] = []

    def keep(block: daisy.Block) -> None:
        ran.append(block.block_id)

    with pytest.warns(DeprecationWarning, match="is the spelling"):
        a = daisy.Task("a", TOTAL, BOX, BOX, keep, num_workers=2)
    with pytest.warns(DeprecationWarning, match="is the spelling"):
        b = daisy.Task("b", TOTAL, BOX, BOX, keep, upstream_tasks=[a])
    assert daisy.run_blockwise([b], multiprocessing=False, progress=False, summary=False)
    assert sorted(ran) == sorted((name, n) for name in "ab" for n in range(5))


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"num_workers": 2, "max_workers": 3}, "num_workers.*max_workers"),
        ({"upstream_tasks": ["a"]}, "upstream_tasks"),
        ({"upstream_tasks": 5}, "upstream_tasks"),
        ({"upstream_tasks": new_task()}, r"upstream_tasks.*write \[task\]"),
        ({"init_callback_fn": 7}, "init_callback_fn"),
        ({"nonsense": 1}, "nonsense"),
    ],
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_wrong_former_arguments(options: dict[str, Any], named: str) -> None:
    with pytest.raises(TypeError, match=named):
        new_task(**options)


def test_an_attribute_of_no_version() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        _ = new_task().nonsense
    assert not hasattr(new_task(), "_nonsense")


def test_block_of_1_x() -> None:
    block = daisy.Block(TOTAL, BOX, BOX, "t", 0)
    assert block.requested_write_roi == BOX
    copied = block.copy()
    copied.status = daisy.BlockStatus.FAILED
    assert copied == block
    assert block.status.name == "CREATED"


def test_status_is_both_an_enum_and_a_number() -> None:
    assert [(status.name, status.value) for status in daisy.BlockStatus] == [
        ("CREATED", 0),
        ("PROCESSING", 1),
        ("SUCCESS", 2),
        ("FAILED", 3),
    ]
    assert int(daisy.BlockStatus.SUCCESS) == 2


def test_dependency_graph_of_tasks() -> None:
    graph = daisy.DependencyGraph([new_task()])
    assert graph.task_ids == ["t"]
    assert (graph.num_roots("t"), len(list(graph.root_gen("t")))) == (5, 5)
    block = daisy.Scheduler([new_task()]).acquire_block("t")
    assert block is not None
    assert list(graph.upstream(block)) == []
    assert graph.num_blocks("t") == 5


def test_release_of_a_block_that_is_not_finished() -> None:
    scheduler = daisy.Scheduler([new_task()])
    block = scheduler.acquire_block("t")
    assert block is not None
    for status in (daisy.BlockStatus.CREATED, daisy.BlockStatus.PROCESSING):
        block.status = status
        with pytest.raises(daisy.DaisyError, match="SUCCESS"):
            scheduler.release_block(block)
    assert scheduler.task_states["t"].processing_count == 1


def test_release_of_a_block_that_is_not_held() -> None:
    scheduler = daisy.Scheduler([new_task()])
    block = scheduler.acquire_block("t")
    assert block is not None
    block.status = daisy.BlockStatus.SUCCESS
    scheduler.release_block(block)
    other = daisy.Block(TOTAL, daisy.Roi((20,), (10,)), daisy.Roi((20,), (10,)), "t", 2)
    other.status = daisy.BlockStatus.SUCCESS
    stranger = daisy.Block(TOTAL, BOX, BOX, "stranger", 0)
    stranger.status = daisy.BlockStatus.SUCCESS
    for wrong in (block, other, stranger):
        with pytest.raises(daisy.DaisyError):
            scheduler.release_block(wrong)
    state = scheduler.task_states["t"]
    assert (state.completed_count, state.processing_count, state.ready_count) == (1, 0, 4)
