"""Workers on a real Slurm: what happens to jobs, and that none is left."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import daisy
import pytest
from daisy._settings import THREAD_VARIABLES
from daisy.launchers import Slurm
from slurm_cluster import SlurmCluster, wait_until
from slurm_runs import once_started, run, touch

# No job and no worker outlives its run.
pytestmark = [pytest.mark.engine, pytest.mark.usefixtures("idle_slurm")]


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


@pytest.mark.parametrize("by_task", [False, True])
def test_resources_reach_the_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_task: bool
) -> None:
    """From the launcher, or from what the task requires, which comes first."""
    for name in THREAD_VARIABLES:
        monkeypatch.delenv(name, raising=False)  # Dask and Ray set some in their drivers

    def process(block: daisy.Block) -> None:
        names = ("SLURM_CPUS_PER_TASK", "SLURM_MEM_PER_NODE", "SLURM_JOB_GPUS", "OMP_NUM_THREADS")
        limit = subprocess.run(
            ["squeue", "--noheader", f"--jobs={os.environ['SLURM_JOB_ID']}", "--format=%l"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        seen = [*(os.environ.get(name, "-") for name in names), limit.strip()]
        (tmp_path / "seen").write_text(" ".join(seen))

    wanted = {"cpu": 2, "mem_mb": 300, "gpu": 1}
    if by_task:
        launcher = Slurm(mem="5G", time="0:30:00")
        roi = daisy.Roi((0,), (10,))
        task = daisy.Task("t", roi, roi, roi, process, launcher=launcher, requires=wanted)
        quiet: Any = {"progress": False, "summary": False, "host": "127.0.0.1"}
        assert daisy.run_blockwise(task, resources=wanted, **quiet)
    else:
        assert run(1, process, Slurm(mem="300M", cpus=2, gpus=1, time="0:30:00"))
    assert (tmp_path / "seen").read_text() == "2 300 0 2 30:00"


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


def failed_job(slurm: SlurmCluster) -> str:
    """The id of a job that has failed."""
    job: str = slurm.ask("sbatch", "--parsable", "--output=/dev/null", "--wrap", "exit 1")
    wait_until(lambda: not slurm.waiting_or_running(), 60, "it has failed")
    return job


NEVER: dict[str, Callable[[SlurmCluster], Slurm]] = {
    "PartitionConfig": lambda slurm: Slurm(extra=["-N2", "-c9"]),
    "Partition": lambda slurm: Slurm(partition="low", time="3-0:00:00"),
    "DependencyNeverSatisfied": lambda slurm: Slurm(
        extra=[f"--dependency=afterok:{failed_job(slurm)}"]
    ),
}


@pytest.mark.parametrize("why", NEVER)
def test_what_can_never_start_is_told(tmp_path: Path, slurm: SlurmCluster, why: str) -> None:
    """Slurm would let it wait for ever."""
    result = run(3, touch(tmp_path), NEVER[why](slurm))
    assert not result
    assert why in (result.states["t"].abandon_reason or "")


def test_a_queue_that_is_too_long_is_told(tmp_path: Path, slurm: SlurmCluster) -> None:
    """What waits is not dead; but the user may say how long it may wait."""
    result = run(2, touch(tmp_path), Slurm(max_queue=1, extra=["--begin=now+1hour"]))
    assert not result
    assert "BeginTime" in (result.states["t"].abandon_reason or "")


def test_memory_grows_after_a_death_of_too_little(tmp_path: Path) -> None:
    """Slurm kills what takes more than it asked for, and says so in the job's log alone."""

    def process(block: daisy.Block) -> None:
        with (tmp_path / "asked").open("a") as file:
            file.write(os.environ["SLURM_MEM_PER_NODE"] + "\n")
        hoard = bytearray(300 * 1024**2)
        hoard[::4096] = b"x" * len(hoard[::4096])
        if os.environ["SLURM_MEM_PER_NODE"] == "200":
            wait_until(lambda: False, 60, "it is killed")

    launcher = Slurm(mem="200M", memory_growth=2, memory_limit="1G")
    result = run(1, process, launcher, max_retries=1)
    assert result, result.errors
    assert (tmp_path / "asked").read_text().split() == ["200", "400"]
