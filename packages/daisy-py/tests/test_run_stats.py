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

MODES = ("process", "thread", "serial", "worker function", "external", "mixed")
# Block 3 fails three times and block 5 once; what is taken away is no return.
SCENARIOS = {
    "clean": ((), (BLOCKS, BLOCKS, 0)),
    "failures": (("fail",), (BLOCKS + 3, BLOCKS - 1, 4)),
    "kill": (("die",), (BLOCKS, BLOCKS, 0)),
    "timeout": (("hang",), (BLOCKS, BLOCKS, 0)),
    "all": (("fail", "die", "hang"), (BLOCKS + 3, BLOCKS - 1, 4)),
}
# Threads and the driver itself cannot be killed alone, and a serial run watches no clock. Workers that were started
# by hand are not started again when they are gone: of these, others must be left, as in `mixed`.
KILLABLE = ("process", "worker function", "mixed")
HANGING = (*KILLABLE, "thread")
MATRIX = [
    (mode, scenario)
    for scenario, (told, _) in SCENARIOS.items()
    for mode in MODES
    if ("die" not in told or mode in KILLABLE) and ("hang" not in told or mode in HANGING)
]


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

    def launch_external() -> None:
        # As `sbatch` does: starts a worker that finds the run by its environment, and returns.
        environment = {**os.environ, "DAISY_CONTEXT": daisy.Context.from_env().to_env()}
        command = [sys.executable, "-m", "daisy", "worker", "counted_work:external"]
        subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)

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

    own = {"worker function": drive_client, "external": launch_external}
    function: Any = own.get(mode, work)
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
    (Path(work.folder) / "over").touch()
    for process in external:
        process.wait()
    assert [number for _, number in result.failed] == ([3] if work.fail else [])
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


@pytest.mark.parametrize(("mode", "scenario"), MATRIX)
def test_each_return_is_counted_once_whatever_the_workers_and_whatever_happens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str, scenario: str
) -> None:
    told, expected = SCENARIOS[scenario]
    monkeypatch.setenv("COUNTED_WORK_OPTIONS", " ".join(told))
    # Who was started by hand may come back for so long; the dead do not.
    monkeypatch.setenv("DAISY_RECONNECT_GRACE", "1")
    work = Work(tmp_path, **{name: name in told for name in ("fail", "die", "hang")})
    timeout = 3.0 if work.hang else None
    stats = run(work, mode, timeout=timeout, resource_tracking=True)
    assert counts(stats) == expected
    assert table_row(stats) == ("task", str(expected[1]), str(expected[2]))
    # It did happen.
    assert (tmp_path / "7").stat().st_size == 1 + work.die
    assert (tmp_path / "9").stat().st_size == 1 + work.hang
    if mode == "process" and work.die:
        assert any("SIGKILL" in (worker.exit or "") for worker in stats.per_worker.values())


def table_row(stats: RunStats) -> tuple[str, ...]:
    """Task, blocks and failures as the table of resources shows them."""
    lines = resource_table(stats).splitlines()
    rows = [line.split() for line in lines if line.split()[:1] == ["task"] and "blocks" not in line]
    return tuple(rows[0][:3])


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
