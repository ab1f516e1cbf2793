"""Blocks are counted where they come back: the same numbers for every kind of worker."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import daisy
import pytest
from counted_work import BLOCKS, Work
from daisy._resource_table import resource_table
from daisy._stats import RunStats

MODES = ("process", "thread", "serial", "worker function", "mixed")


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Logs go to this test's folder; external workers find the work."""
    before = daisy.logging.get_log_basedir()
    daisy.logging.set_log_basedir(tmp_path / "logs")
    monkeypatch.setenv("COUNTED_WORK", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), *sys.path]))
    yield
    daisy.logging.set_log_basedir(before)


def run(work: Work, mode: str, **options: Any) -> RunStats:
    """Run the work under this kind of worker; in ``mixed`` one is started by hand besides."""
    options = {"max_workers": 2, "max_retries": 2, "read_write_conflict": False, **options}
    external: list[subprocess.Popen[bytes]] = []

    def start_external(context: daisy.Context) -> None:
        environment = {**os.environ, "DAISY_CONTEXT": context.to_env()}
        command = [sys.executable, "-m", "daisy", "worker", "counted_work:external"]
        external.append(subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL))

    def drive_client() -> None:
        client = daisy.Client()
        while True:
            with client.acquire_block() as block:
                if block is None:
                    return
                work(block)

    function: Any = drive_client if mode == "worker function" else work
    block = daisy.Roi((0,), (1,))
    if mode == "mixed":
        with pytest.warns(DeprecationWarning):
            task = daisy.Task("task", daisy.Roi((0,), (BLOCKS,)), block, block, function,
                              init_callback_fn=start_external, **options)  # fmt: skip
    else:
        task = daisy.Task("task", daisy.Roi((0,), (BLOCKS,)), block, block, function, **options)
    result = daisy.run_blockwise(
        task,
        multiprocessing=mode != "serial",
        worker_processes=mode != "thread",
        progress=False,
        summary=False,
    )
    for process in external:
        process.wait()
    assert [number for _, number in result.failed] == [3]
    return result.stats


def counts(stats: RunStats) -> tuple[int, int, int]:
    """What must be equal; and the sums over workers must agree with them."""
    task = stats.per_task["task"]
    workers = list(stats.per_worker.values())
    assert sum(worker.blocks_processed for worker in workers) == task.blocks_processed
    assert sum(worker.succeeded for worker in workers) == task.succeeded
    assert sum(worker.failed for worker in workers) == task.failed
    assert sum(worker.busy_seconds for worker in workers) == pytest.approx(task.busy_seconds)
    assert task.blocks_processed == task.succeeded + task.failed
    return task.blocks_processed, task.succeeded, task.failed


@pytest.mark.parametrize("mode", MODES)
def test_each_return_is_counted_once(tmp_path: Path, mode: str) -> None:
    # Block 3 fails three times and block 5 once.
    assert counts(run(Work(tmp_path), mode)) == (BLOCKS + 3, BLOCKS - 1, 4)


@pytest.mark.parametrize("mode", ["process", "worker function"])
def test_attempts_that_are_taken_away_are_not_counted(tmp_path: Path, mode: str) -> None:
    stats = run(
        Work(tmp_path, die=True, hang=mode == "process"),
        mode,
        timeout=3.0 if mode == "process" else None,
    )
    assert counts(stats) == (BLOCKS + 3, BLOCKS - 1, 4)
    assert (tmp_path / "7").stat().st_size == 2
    if mode == "process":
        assert (tmp_path / "9").stat().st_size == 2
        killed = [
            worker.exit for worker in stats.per_worker.values() if "SIGKILL" in (worker.exit or "")
        ]
        assert killed


def test_a_worker_that_nobody_started_has_an_entry_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COUNTED_WORK_MEETS", "1")
    stats = run(Work(tmp_path, meet=True), "mixed", max_workers=1)
    by_launched = {worker.launched: worker for worker in stats.per_worker.values()}
    assert by_launched[True].blocks_processed > 0
    assert by_launched[False].blocks_processed > 0
    assert all(worker.task_id == "task" for worker in stats.per_worker.values())
    assert counts(stats) == (BLOCKS + 3, BLOCKS - 1, 4)


def test_the_table_shows_the_same_counts_in_every_mode(tmp_path: Path) -> None:
    rows = set()
    for mode in MODES:
        (folder := tmp_path / mode).mkdir()
        os.environ["COUNTED_WORK"] = str(folder)
        table = resource_table(run(Work(folder), mode, resource_tracking=True))
        assert f"blocks measured : {BLOCKS - 1}" in table
        row = next(
            line
            for line in table.splitlines()
            if line.split()[:1] == ["task"] and "blocks" not in line
        )
        rows.add(tuple(row.split()[:3]))
    assert rows == {("task", str(BLOCKS - 1), "4")}


def test_a_resumed_run_measures_nothing(tmp_path: Path) -> None:
    block = daisy.Roi((0,), (1,))
    for expected in (5, 0):
        task = daisy.Task(
            "task", daisy.Roi((0,), (5,)), block, block, lambda block: None, tracking_path=tmp_path / "store",
            resource_tracking=True,
        )  # fmt: skip
        result = daisy.run_blockwise(task, worker_processes=False, progress=False, summary=False)
        assert result.stats.per_task["task"].blocks_measured == expected
        summary = result.tracking_summary["per_task"]["task"]
        assert (summary["blocks"], summary["has_stats"]) == (expected, expected > 0)
        assert bool(resource_table(result.stats)) == (expected > 0)


def test_processor_time_of_threads_counts(tmp_path: Path) -> None:
    def burn(block: daisy.Block) -> None:
        import time

        def spin() -> None:
            until = time.thread_time() + 0.2
            while time.thread_time() < until:
                pass

        thread = threading.Thread(target=spin)
        thread.start()
        thread.join()

    block = daisy.Roi((0,), (1,))
    task = daisy.Task("burn", daisy.Roi((0,), (2,)), block, block, burn, resource_tracking=True)
    stats = daisy.run_blockwise(task, progress=False, summary=False).stats.per_task["burn"]
    assert stats.cpu_seconds >= 0.4
    assert stats.peak_rss_bytes > 2**20
