"""Tracking stores as a user sees them: what was done is not done again, and other programs read the store."""

from __future__ import annotations

import itertools
import logging
import math
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import daisy
import numpy as np
import pytest
from daisy.errors import AddressError, StoreError, StoreLocked, StoreMismatch

zarr: Any = pytest.importorskip("zarr")


class Count:
    """Counts its calls per block, and fails where it is told to."""

    def __init__(self, bad: set[int] | None = None) -> None:
        self.calls: list[tuple[int, ...]] = []
        self.bad = bad or set()

    def __call__(self, block: daisy.Block) -> None:
        self.calls.append(tuple(block.write_roi.begin))
        if block.block_id[1] in self.bad:
            raise RuntimeError(f"block {block.block_id[1]} is bad")


def make(function: Any, path: Any, shape: tuple[int, ...] = (10,), **options: Any) -> daisy.Task:
    zero, one = (0,) * len(shape), (1,) * len(shape)
    block = daisy.Roi(zero, one)
    options = {"read_write_conflict": False, "max_retries": 1, **options}
    return daisy.Task(
        "task", daisy.Roi(zero, shape), block, block, function, tracking_path=path, **options
    )


def run(*tasks: daisy.Task, **options: Any) -> daisy.RunResult:
    options = {"worker_processes": False, "progress": False, "summary": False, **options}
    result: daisy.RunResult = daisy.run_blockwise(list(tasks), **options)
    return result


@pytest.mark.parametrize("shape", [(1,), (70_000,), (3, 5), (300, 300), (2, 41, 900), (4, 1, 1, 3)])
def test_other_libraries_read_what_was_done(tmp_path: Path, shape: tuple[int, ...]) -> None:
    tensorstore = pytest.importorskip("tensorstore")
    mask = np.random.default_rng(1).random(shape) < 0.5
    assert run(make(lambda block: None, tmp_path / "store", shape, skip_mask=mask))
    group = zarr.open_group(tmp_path / "store", mode="r")
    assert sorted(group) == ["done", "failures", "masked"]
    assert (group["masked"][...] == mask).all()
    assert (group["done"][...] == ~mask).all()
    assert group["done"].dtype == np.uint8
    assert group["failures"].dtype == np.uint16
    assert not group["failures"][...].any()
    spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": str(tmp_path / "store/done")}}
    assert (tensorstore.open(spec).result().read().result() == ~mask).all()


@pytest.mark.parametrize("how", ["serial", "thread", "process"])
def test_what_is_done_is_not_done_again(tmp_path: Path, how: str) -> None:
    from tracking_driver import logged, task

    options = {"multiprocessing": how != "serial", "worker_processes": how == "process"}
    daisy.logging.set_log_basedir(None)
    for _ in range(2):
        assert run(task(tmp_path, 50), **options)
        assert sorted(logged(tmp_path)) == list(range(50))
    states = run(task(tmp_path, 50), return_states=True, **options)
    assert states["log"].skipped_count == 50  # type: ignore[index]


def test_failed_blocks_are_listed_and_done_later(tmp_path: Path) -> None:
    assert not run(make(Count(bad={3, 7}), tmp_path / "store"))
    failures = zarr.open_group(tmp_path / "store", mode="r")["failures"][...]
    assert failures.tolist() == [0, 0, 0, 2, 0, 0, 0, 2, 0, 0]
    again = make(function := Count(), tmp_path / "store")
    assert [block.block_id for block in again.failed_blocks()] == [("task", 3), ("task", 7)]
    assert run(again)
    assert sorted(function.calls) == [(3,), (7,)]
    assert again.failed_blocks() == []


def test_each_difference_of_the_geometry_is_named(tmp_path: Path) -> None:
    assert run(make(Count(), tmp_path / "store", (4, 6)))
    other = daisy.Task(
        "other",
        daisy.Roi((0, 0), (5, 6)),
        daisy.Roi((0, -1), (2, 3)),
        daisy.Roi((0, 0), (2, 1)),
        lambda block: None,
        fit="shrink",
        tracking_path=tmp_path / "store",
    )
    with pytest.raises(StoreMismatch) as caught:
        run(other)
    text = str(caught.value)
    for difference in (
        "total_roi: was [0:4, 0:6], is now [0:5, 0:6]",
        "write_roi shape: was (1, 1), is now (2, 1)",
        "context at the lower side (write_roi.begin - read_roi.begin): was (0, 0), is now (0, 1)",
        "context at the upper side (read_roi.end - write_roi.end): was (0, 0), is now (0, 1)",
        'fit: was "valid", is now "shrink"',
        'task_id: was "task", is now "other"',
    ):
        assert difference in text
    with pytest.raises(StoreMismatch):
        other.failed_blocks()
    other.reset()
    assert run(other)


def test_the_same_blocks_under_another_name_are_accepted_and_that_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert run(make(Count(), tmp_path / "store"))
    block = daisy.Roi((5,), (1,))
    renamed = daisy.Task(
        "new",
        daisy.Roi((0,), (10,)),
        block,
        block,
        function := Count(),
        tracking_path=tmp_path / "store",
    )
    with caplog.at_level(logging.WARNING, "daisy"):
        assert run(renamed)
    assert function.calls == []
    assert 'was written by task "task"' in caplog.text


def test_two_tasks_of_one_store_are_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    block = daisy.Roi((0,), (1,))
    other = daisy.Task(
        "b", daisy.Roi((0,), (10,)), block, block, Count(), tracking_path=tmp_path / "link/store"
    )
    with pytest.raises(ValueError, match="'task' and 'b' have the same tracking_path"):
        run(make(Count(), tmp_path / "store"), other)
    assert not (tmp_path / "store").exists()


def test_a_store_in_use_is_refused_naming_the_holder(tmp_path: Path) -> None:
    refused: list[StoreLocked] = []

    def process(block: daisy.Block) -> None:
        with pytest.raises(StoreLocked) as caught:
            run(make(Count(), tmp_path / "store", (2,)))
        refused.append(caught.value)
        with pytest.raises(StoreLocked):
            make(Count(), tmp_path / "store", (2,)).reset()

    assert run(make(process, tmp_path / "store", (2,), max_workers=1), multiprocessing=False)
    assert len(refused) == 2
    assert f"process {os.getpid()} on {socket.gethostname()} since 2" in str(refused[0])


def test_a_run_that_could_not_start_holds_no_store(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    good, block = make(Count(), tmp_path / "store"), daisy.Roi((0,), (1,))
    bad = daisy.Task(
        "b", daisy.Roi((0,), (5,)), block, block, Count(), tracking_path=tmp_path / "file"
    )
    failures = []
    for _ in range(2):
        with pytest.raises(AddressError) as caught:
            run(good, host="no.such.host.invalid")
        failures.append(caught.value)
    with pytest.raises(StoreError, match="a file"):
        run(good, bad)
    # The exceptions, and with them the frames of the runs that failed, are still alive here.
    assert len(failures) == 2
    assert run(good)


def test_reset_stays_in_its_folder(tmp_path: Path) -> None:
    daisy.set_tracking_basedir(tmp_path / "base")
    try:
        block = daisy.Roi((0,), (1,))
        tasks = [
            daisy.Task(name, daisy.Roi((0,), (3,)), block, block, Count())
            for name in ("a", "b", ".c")
        ]
        assert run(*tasks)
        assert sorted(path.name for path in (tmp_path / "base").iterdir()) == [".c", "a", "b"]
        assert tasks[0].reset() == tmp_path / "base" / "a"
        assert sorted(path.name for path in (tmp_path / "base").iterdir()) == [".c", "b"]
        daisy.Pipeline(tasks).reset()
        assert list((tmp_path / "base").iterdir()) == []
        for name in ("", "..", "../victim", str(tmp_path), "a/b", "."):
            with pytest.raises(ValueError, match="task_id"):
                daisy.Task(name, daisy.Roi((0,), (3,)), block, block, Count())
    finally:
        daisy.set_tracking_basedir(None)


def test_reset_leaves_what_is_not_a_store(tmp_path: Path) -> None:
    for make_foreign in (
        lambda path: path.write_text("a file"),
        lambda path: (path.mkdir(), (path / "thesis.tex").write_text("work")),
        lambda path: zarr.create_array(path, shape=(3,), dtype="u1"),
        lambda path: zarr.create_group(path).create_array("raw", shape=(3,), dtype="u1"),
    ):
        path = tmp_path / "foreign"
        make_foreign(path)
        before = sorted(tmp_path.rglob("*"))
        task = make(function := Count(), path)
        with pytest.raises(StoreError, match="expected: "):
            task.reset()
        with pytest.raises(StoreError, match="expected: "):
            run(task)
        assert function.calls == []
        assert sorted(tmp_path.rglob("*")) == before
        subprocess.run(["rm", "-r", path], check=True)


def test_an_array_of_the_user_is_honoured(tmp_path: Path) -> None:
    group = zarr.create_group(tmp_path / "store", attributes={"mine": 1})
    done = group.create_array(
        "done", shape=(10,), chunks=(3,), dtype="u1", compressors=None, fill_value=0
    )
    done[[1, 8]] = 1
    assert run(make(function := Count(), tmp_path / "store"))
    assert sorted(function.calls) == [(i,) for i in range(10) if i not in (1, 8)]
    again = zarr.open_group(tmp_path / "store", mode="r")
    assert again["done"][...].all()
    assert dict(again.attrs) == {"mine": 1}


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        ({"chunks": (10,)}, "codecs"),
        ({"chunks": (5,), "shards": (10,), "compressors": None}, "codecs"),
        ({"compressors": None, "dtype": "u2"}, "data_type"),
        ({"compressors": None, "shape": (11,)}, "shape"),
    ],
)
def test_an_array_that_cannot_be_kept_truthfully_is_refused(
    tmp_path: Path, options: dict[str, Any], wrong: str
) -> None:
    group = zarr.create_group(tmp_path / "store")
    done = group.create_array("done", **{"shape": (10,), "dtype": "u1", "fill_value": 0, **options})
    done[4] = 1
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises((StoreError, StoreMismatch), match=wrong):
        run(make(function := Count(), tmp_path / "store"))
    assert function.calls == []
    assert {path: path.read_bytes() for path in before} == before


def test_tracking_can_be_left_out(tmp_path: Path) -> None:
    function = Count()
    assert run(make(function, tmp_path / "store"), block_tracking=False)
    assert not (tmp_path / "store").exists()
    assert run(make(function, False))
    assert len(function.calls) == 20


def test_masked_and_done_are_kept_apart(tmp_path: Path) -> None:
    mask = np.zeros(10)
    mask[[2, 5]] = 0.5, np.nan
    states = run(make(Count(), tmp_path / "store", skip_mask=mask), return_states=True)
    assert states["task"].skipped_count == 2  # type: ignore[index]
    done = zarr.open_group(tmp_path / "store", mode="r")["done"][...]
    assert np.flatnonzero(done == 0).tolist() == [2, 5]
    masked = zarr.open_group(tmp_path / "store", mode="r")["masked"][...]
    assert np.flatnonzero(masked).tolist() == [2, 5]
    other = np.arange(10) == 5
    assert run(make(function := Count(), tmp_path / "store", skip_mask=other))
    assert sorted(function.calls) == [(2,)]
    assert (zarr.open_group(tmp_path / "store", mode="r")["masked"][...] == other).all()
    assert run(make(function := Count(), tmp_path / "store"))
    assert sorted(function.calls) == [(5,)]
    assert sorted(zarr.open_group(tmp_path / "store", mode="r")) == ["done", "failures"]


def test_what_check_function_finds_done_is_marked(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="check_function"):
        task = make(
            function := Count(),
            tmp_path / "store",
            check_function=lambda block: block.block_id[1] < 4,
        )
    assert run(task)
    assert len(function.calls) == 6
    assert zarr.open_group(tmp_path / "store", mode="r")["done"][...].all()


def test_measurements_are_kept(tmp_path: Path) -> None:
    assert run(make(Count(), tmp_path / "store", (2, 3), resource_tracking=True))
    group = zarr.open_group(tmp_path / "store", mode="r")
    assert (group["wall_seconds"][...] >= 0).all()
    assert (group["cpu_seconds"][...] >= 0).all()
    assert (group["peak_rss_bytes"][...] > 2**20).all()
    assert {group[name].dtype for name in ("io_read_bytes", "io_write_bytes")} == {np.dtype("u8")}


def test_done_blocks_are_skipped_in_any_dimension_and_order(tmp_path: Path) -> None:
    shape = (6, 7, 8)
    random = np.random.default_rng(7)
    zero, one = (0, 0, 0), (1, 1, 1)
    for trial, conflict in itertools.product(range(3), (False, True)):
        path = tmp_path / f"{trial}-{conflict}"
        mask = random.random(shape) < (0.1, 0.5, 0.9)[trial]
        first = make(Count(), path, shape, skip_mask=mask)
        assert run(first)
        function = Count()
        context = daisy.Task(
            "task", daisy.Roi(zero, shape), daisy.Roi(zero, one), daisy.Roi(zero, one), function,
            read_write_conflict=conflict, tracking_path=path, max_workers=3,
        )  # fmt: skip
        assert run(context)
        assert sorted(function.calls) == sorted(map(tuple, np.argwhere(mask).tolist()))
        assert len(function.calls) == math.prod(shape) - int((~mask).sum())


def test_a_full_disk_is_an_error_and_marks_stay_true(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    del resource
    code = f"""
import resource, sys
sys.path[:0] = {sys.path!r}
import daisy
from daisy.errors import StoreError
from tracking_driver import task
from pathlib import Path
work = task(Path({str(tmp_path)!r}), 200_000)
work.process_function = lambda block: None
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
    daisy.run_blockwise(work, worker_processes=False, progress=False, summary=False)
except StoreError as error:
    print("refused:", error)
"""
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert "refused: the tracking store cannot be used" in ended.stdout
    assert "free space" in ended.stdout
    from tracking_driver import task

    # Nothing is broken: the store opens, and the rest is done.
    work = task(tmp_path, 200_000)
    work.process_function = lambda block: None
    assert run(work)
    assert zarr.open_group(tmp_path / "store", mode="r")["done"][...].all()


def test_a_small_disk_fills_up_and_the_run_goes_on_when_it_has_grown(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", disk], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("this user may not mount a file system")
    try:
        shape = (1_000_000,)
        with pytest.raises(
            StoreError, match=r"No space left on device.*the run can be resumed"
        ) as full:
            run(make(lambda block: None, disk / "store", shape))
        # What was done is not lost with the disk, and what is marked was done.
        assert full.value.result is not None
        state = full.value.result.states["task"]
        assert state.completed_count > 0
        assert full.value.result.cancelled
        marks = int(zarr.open_array(disk / "store/done", mode="r")[...].sum())
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        with pytest.raises(StoreError, match="Read-only file system"):
            run(make(lambda block: None, disk / "store", shape))
        subprocess.run(["mount", "-o", "remount,rw,size=64m", disk], check=True)
        states = run(make(lambda block: None, disk / "store", shape), return_states=True)
        assert marks <= state.completed_count
        assert 0 < marks == states["task"].skipped_count < 1_000_000  # type: ignore[index]
        assert zarr.open_array(disk / "store/done", mode="r")[...].all()
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_folder_that_cannot_be_written_is_an_error_before_the_run(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="file"):
        run(make(function := Count(), tmp_path / "file" / "store"))
    assert function.calls == []


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere"
)
def test_a_read_only_folder_is_an_error_before_the_run(tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o500)
    with pytest.raises(StoreError, match="a folder that can be written to"):
        run(make(function := Count(), tmp_path / "locked" / "store"))
    assert function.calls == []
