"""Stores that fail in mid-run, and stores that are not ours: what was done is told, nothing is marked that was not."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import daisy
import numpy as np
import pytest
from daisy.errors import StoreError, StoreMismatch
from quiet_runs import blocks, run

zarr: Any = pytest.importorskip("zarr")

WAYS = {
    "serial": {"multiprocessing": False},
    "thread": {"worker_processes": False},
}


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("put_back", [False, True])
def test_a_store_that_is_removed_stops_the_run_and_what_was_done_is_told(
    tmp_path: Path, how: str, put_back: bool
) -> None:
    store = tmp_path / "store"
    ran: list[int] = []

    def process(block: daisy.Block) -> None:
        ran.append(block.block_id[1])
        if len(ran) == 50:
            shutil.move(store, tmp_path / "moved")
            if put_back:
                shutil.copytree(tmp_path / "moved", store)

    task = blocks(2_000_000, process, tracking_path=store, max_workers=1)
    with pytest.raises(StoreError, match=r"removed or replaced.*run again to go on") as caught:
        run(task, **WAYS[how])
    result = caught.value.result
    assert result is not None
    assert not result
    assert result.cancelled
    state = result.states["t"]
    # What a worker had done and not yet said when the run was stopped is not counted.
    assert 50 <= state.completed_count <= len(ran) < 2_000_000
    assert result.stats.per_task["t"].succeeded == state.completed_count
    (told,) = json.loads(json.dumps(result.report()))["tasks"]
    assert told["counts"]["completed"] == state.completed_count
    # Nothing was written where the store had been, and what is marked was done.
    assert (store / "zarr.json").exists() == put_back
    marks = zarr.open_array(tmp_path / "moved/done", mode="r")[...]
    assert set(np.flatnonzero(marks)) <= set(ran)


def test_a_full_file_system_stops_a_run_of_processes_and_the_result_is_kept(
    tmp_path: Path,
) -> None:
    pytest.importorskip("resource")
    program = """
import json, resource, sys
import daisy
from daisy.errors import StoreError

daisy.logging.set_log_basedir(None)
block = daisy.Roi((0,), (1,))
task = daisy.Task(
    "t", daisy.Roi((0,), (300_000,)), block, block, lambda block: None, read_write_conflict=False,
    max_workers=1, tracking_path="store",
)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
    daisy.run_blockwise(task, progress=False)
except StoreError as error:
    state = error.result.states["t"]
    print("refused:", error)
    print("counts:", json.dumps([state.completed_count, state.failed_count, bool(error.result)]))
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    refused, counts = ended.stdout.splitlines()[-2:]
    assert "File too large" in refused
    assert "free space" in refused
    completed, failed, succeeded = json.loads(counts.removeprefix("counts: "))
    assert completed > 0
    assert (failed, succeeded) == (0, completed == 300_000)
    # The summary that the user reads has them, too.
    assert f" {completed} " in ended.stdout.split("counts:")[0]
    marks = tmp_path / "store/done/c/0"
    assert not marks.exists() or np.frombuffer(marks.read_bytes(), "u1").sum() <= completed


def old_store(folder: Path) -> None:
    """A store as daisy 2.0 leaves it."""
    group = zarr.create_group(folder, attributes={"daisy_task_hash": "6033dfedeecc35bd"})
    for name, dtype in (("done", "u1"), ("failures", "u4"), ("gpu_util_pct", "f4")):
        group.create_array(name, shape=(10,), chunks=(10,), dtype=dtype, compressors=None)
    group["done"][:5] = 1


def test_a_store_of_daisy_2_is_refused_with_the_way_out_and_left_alone(tmp_path: Path) -> None:
    old_store(tmp_path / "store")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    ran: list[int] = []

    def process(block: daisy.Block) -> None:
        ran.append(block.block_id[1])

    task = blocks(10, process, tracking_path=tmp_path / "store")
    for ask in (lambda: run(task, multiprocessing=False), task.failed_blocks):
        with pytest.raises(StoreMismatch) as caught:
            ask()
        text = str(caught.value)
        assert "was written by daisy 2.0, which counts cells differently" in text
        assert str(tmp_path / "store") in text
        assert "another tracking_path, or Task.reset() to start anew" in text
    assert ran == []
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    task.reset()
    assert not (tmp_path / "store").exists()
    assert run(task, multiprocessing=False)
    assert sorted(ran) == list(range(10))


def test_reset_leaves_files_that_are_not_its_own_wherever_they_lie(tmp_path: Path) -> None:
    task = blocks(
        10,
        lambda block: None,
        tracking_path=tmp_path / "store",
        resource_tracking=True,
        skip_mask=np.arange(10) == 3,
    )
    assert run(task, multiprocessing=False)
    mine = {tmp_path / "store" / name for name in ("notes.txt", "done/a.txt", "wall_seconds/b.txt")}
    for path in mine:
        path.write_text("work")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/c").write_text("work")
    shutil.rmtree(tmp_path / "store/failures")
    (tmp_path / "store/failures").symlink_to(tmp_path / "elsewhere")
    daisy.Pipeline([task]).reset()
    left = {path for path in (tmp_path / "store").rglob("*") if not path.is_dir()}
    assert left == mine
    assert (tmp_path / "elsewhere/c").read_text() == "work"


def test_an_array_of_the_user_called_masked_is_not_touched(tmp_path: Path) -> None:
    group = zarr.create_group(tmp_path / "store")
    for name in ("done", "masked"):
        group.create_array(name, shape=(10,), chunks=(5,), dtype="u1", compressors=None)
    group["masked"][:] = 7
    mask = np.arange(10) == 3
    for skip_mask in (mask, None):
        task = blocks(10, lambda block: None, tracking_path=tmp_path / "store", skip_mask=skip_mask)
        assert run(task, multiprocessing=False)
        assert (zarr.open_group(tmp_path / "store", mode="r")["masked"][...] == 7).all()
