"""Workers on a real Slurm: what happens to jobs, and that none is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import daisy
import pytest
from daisy._settings import THREAD_VARIABLES
from daisy.launchers import Slurm
from slurm_cluster import SlurmCluster, is_alive, wait_until
from slurm_runs import once_started, run, touch

pytestmark = pytest.mark.engine


@pytest.fixture(autouse=True)
def nothing_left(slurm: SlurmCluster) -> Iterator[None]:
    """No job and no worker outlives its run."""
    yield
    slurm.settle()


def test_first_block_within_three_seconds(tmp_path: Path, slurm: SlurmCluster) -> None:
    """On an idle Slurm; the best of three, since the machine that this runs on may be busy."""

    def first_block() -> float:
        wait_until(lambda: slurm.idle_nodes() == 2, 30, "both nodes are idle")
        began = time.time()
        assert run(1, touch(tmp_path))
        return (tmp_path / "block-0").stat().st_mtime - began

    assert min(first_block() for _ in range(3)) < 3


def test_job_ids_are_known(tmp_path: Path, logs: Path) -> None:
    """One array for both workers; ids in the result, in the folder of logs, and in the job itself."""
    result = run(20, touch(tmp_path), max_workers=2)
    assert result
    jobs = {handle.native_id for handle in result.jobs}
    assert {path.read_text() for path in tmp_path.glob("block-*")} <= jobs
    assert len({job.split("_")[0] for job in jobs}) == 1
    noted = (logs / "jobs.jsonl").read_text()
    assert all(f'"{job}"' in noted for job in jobs)


def test_resources_reach_the_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in THREAD_VARIABLES:
        monkeypatch.delenv(name, raising=False)  # Dask and Ray set some in their drivers

    def process(block: daisy.Block) -> None:
        names = ("SLURM_CPUS_PER_TASK", "SLURM_MEM_PER_NODE", "SLURM_JOB_GPUS", "OMP_NUM_THREADS")
        (tmp_path / "seen").write_text(" ".join(os.environ.get(name, "-") for name in names))

    assert run(1, process, Slurm(mem="300M", cpus=2, gpus=1, time="0:30:00"))
    assert (tmp_path / "seen").read_text() == "2 300 0 2"


def test_a_killed_worker_is_replaced(tmp_path: Path) -> None:
    mark = tmp_path / "mark"

    def process(block: daisy.Block) -> None:
        if block.block_id[1] == 2 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)

    result = run(6, process)
    assert result
    assert result.states["t"].worker_failure_count == 1
    assert len(result.jobs) == 2


def test_a_cancelled_worker_leaves_in_order(tmp_path: Path, slurm: SlurmCluster) -> None:
    """Someone's scancel costs no attempt: the block is finished or given back, and the job replaced."""
    started, seen = tmp_path / "started", tmp_path / "seen"

    def process(block: daisy.Block) -> None:
        if not started.exists():
            started.touch()
            threading.Event().wait(1.0)
        with seen.open("a") as file:
            file.write(f"{block.block_id[1]}\n")

    thread = once_started(started, lambda: slurm.ask("scancel", "--user=root"))
    result = run(4, process, max_retries=0)
    thread.join()
    assert result, result.errors
    assert sorted(seen.read_text().split()) == ["0", "1", "2", "3"]
    assert result.states["t"].worker_failure_count == 0


def test_a_block_that_cannot_end_in_time_is_given_back(tmp_path: Path, slurm: SlurmCluster) -> None:
    """It takes longer than Slurm waits before it kills: it goes back free of charge, and is done later."""
    started = tmp_path / "started"

    def process(block: daisy.Block) -> None:
        if not started.exists():
            started.touch()
            threading.Event().wait(60)

    thread = once_started(started, lambda: slurm.ask("scancel", "--user=root"))
    result = run(2, process, max_retries=0)
    thread.join()
    assert result, result.errors
    assert result.states["t"].failed_attempt_count == 0


def test_what_can_never_start_is_told(tmp_path: Path) -> None:
    result = run(3, touch(tmp_path), Slurm(extra=["-N2", "-c9"]))
    assert not result
    assert "PartitionConfig" in (result.states["t"].abandon_reason or "")


def test_what_slurm_refuses_is_told(tmp_path: Path) -> None:
    result = run(3, touch(tmp_path), Slurm(partition="nowhere"))
    assert not result
    assert "invalid partition" in (result.states["t"].abandon_reason or "")


def test_a_wrong_python_is_told(tmp_path: Path) -> None:
    result = run(3, touch(tmp_path), Slurm(python="/no/such/python"))
    assert not result
    assert "/no/such/python" in (result.states["t"].abandon_reason or "")


def test_a_queue_that_is_too_long_is_told(tmp_path: Path, slurm: SlurmCluster) -> None:
    """What waits is not dead; but the user may say how long it may wait."""
    result = run(2, touch(tmp_path), Slurm(max_queue=1, extra=["--begin=now+1hour"]))
    assert not result
    assert "BeginTime" in (result.states["t"].abandon_reason or "")


DRIVER = """
import signal, sys, time, daisy
signal.signal(signal.SIGINT, signal.default_int_handler)  # shells take it from what runs behind them
from daisy.launchers import Slurm
folder = sys.argv[1]
def process(block):
    open(folder + "/started", "w").close()
    time.sleep(600)
roi = daisy.Roi((0,), (10,))
task = daisy.Task("t", daisy.Roi((0,), (100,)), roi, roi, process, launcher=Slurm(), max_workers=6)
if __name__ == "__main__":
    daisy.logging.set_log_basedir(sys.argv[1] + "/logs")
    daisy.run_blockwise(task, progress=False, summary=False, host="127.0.0.1")
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_job_outlives_its_driver(
    tmp_path: Path, slurm: SlurmCluster, number: signal.Signals
) -> None:
    """Asked to end, it cancels its jobs; killed, its workers end themselves, and so do those that start later."""
    script = tmp_path / "driver.py"
    script.write_text(DRIVER)
    driver = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path)], stderr=subprocess.DEVNULL
    )
    wait_until((tmp_path / "started").exists, 60, "a block has started")
    assert slurm.jobs()
    driver.send_signal(number)
    assert driver.wait(20) != 0
    assert not is_alive(driver.pid)
    wait_until(lambda: not slurm.jobs(), 20, "no job is left")


def test_a_driver_cancels_what_a_killed_one_left(
    tmp_path: Path, slurm: SlurmCluster, logs: Path
) -> None:
    folder = logs / ".daisy-run-before"
    folder.mkdir(parents=True)
    job = subprocess.run(
        ["sbatch", "--parsable", "--array=0-0", "--begin=now+1hour", "-o", "/dev/null"],
        input="#!/bin/sh\nsleep 600\n",
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    (folder / "owner").touch()
    (folder / "jobs.jsonl").write_text(
        f'{{"launcher": "slurm", "worker": "1", "job": "{job}_0"}}\n'
    )
    assert slurm.jobs()
    assert run(2, touch(tmp_path))
    assert not folder.exists()


def test_a_driver_that_is_started_again_ends_what_it_left(
    tmp_path: Path, slurm: SlurmCluster, logs: Path
) -> None:
    """Killed with workers at work and jobs that wait, and started again on the same folder at once."""
    script = tmp_path / "driver.py"
    script.write_text(DRIVER)
    command = [sys.executable, str(script), str(tmp_path)]
    driver = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    wait_until((tmp_path / "started").exists, 60, "a block has started")
    wait_until(lambda: len(slurm.jobs()) == 6, 30, "two of six jobs wait")
    driver.kill()
    driver.wait()
    assert run(2, touch(tmp_path))
    assert not list(logs.glob(".daisy-run-*"))
