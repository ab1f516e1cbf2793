"""Jobs on a real Slurm come and go with the work: while a task runs, between stages, and from inside a job."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

import daisy
import pytest
from daisy.launchers import Slurm
from slurm_cluster import SlurmCluster, wait_until

# No job and no worker outlives its run.
pytestmark = [pytest.mark.engine, pytest.mark.usefixtures("idle_slurm")]
ROI = daisy.Roi((0,), (10,))
TOTAL = daisy.Roi((0,), (400,))
QUIET: Any = {"progress": False, "summary": False, "host": "127.0.0.1"}


def test_max_workers_may_be_changed(tmp_path: Path, slurm: SlurmCluster) -> None:
    """With 0 the task holds no job; with 3 it has three."""

    def process(block: daisy.Block) -> None:
        (tmp_path / "started").touch()
        wait_until((tmp_path / "paused").exists, 60, "the task is paused")
        if (tmp_path / "more").exists():
            wait_until(lambda: len(slurm.jobs()) >= 3, 60, "three have a job")

    task = daisy.Task("t", TOTAL, ROI, ROI, process, launcher=Slurm(), read_write_conflict=False)

    def change() -> None:
        wait_until((tmp_path / "started").exists, 60, "one is at work")
        task.max_workers = 0
        (tmp_path / "paused").touch()
        wait_until(lambda: not slurm.jobs(), 60, "no job is held")
        (tmp_path / "more").touch()
        task.max_workers = 3

    thread = threading.Thread(target=change, daemon=True)
    thread.start()
    result = daisy.run_blockwise(task, **QUIET)
    thread.join()
    assert result, result.errors
    assert len(result.jobs) == 4


def test_no_job_is_held_between_stages(tmp_path: Path, slurm: SlurmCluster) -> None:
    """Workers of a stage that is over are let go while the next stage runs; that one needs another kind of node."""

    def second(block: daisy.Block) -> None:
        lines = (tmp_path / "logs/jobs.jsonl").read_text().splitlines()
        (tmp_path / "lines").write_text("\n".join(lines))
        wait_until(lambda: len(slurm.jobs()) == 1, 60, "only this job is left")

    spread = daisy.Task(
        "spread", TOTAL, ROI, ROI, lambda block: None, launcher=Slurm(), max_workers=3
    )
    gather = daisy.Task("gather", TOTAL, TOTAL, TOTAL, second, launcher=Slurm(mem="500M", gpus=1))
    result = daisy.run_blockwise(spread + gather, **QUIET)
    assert result, result.errors
    assert len((tmp_path / "lines").read_text().splitlines()) >= 2


DRIVER = """
import os, sys, daisy
from daisy.launchers import Slurm
folder = sys.argv[1]
def process(block):
    names = ("SLURM_JOB_ID", "SLURM_CPUS_PER_TASK", "SLURM_MEM_PER_NODE", "SLURM_JOB_NAME")
    with open(folder + "/seen", "a") as file:
        file.write(" ".join(os.environ.get(name, "-") for name in names) + "\\n")
roi = daisy.Roi((0,), (10,))
task = daisy.Task("t", daisy.Roi((0,), (40,)), roi, roi, process, launcher=Slurm(cpus=1, mem="300M"))
if __name__ == "__main__":
    daisy.logging.set_log_basedir(folder + "/logs")
    result = daisy.run_blockwise(task, progress=False, host="127.0.0.1")
    result.raise_for_failures()
"""


def test_a_driver_inside_a_job_hands_its_limits_to_nobody(
    tmp_path: Path, slurm: SlurmCluster
) -> None:
    (tmp_path / "driver.py").write_text(DRIVER)
    command = f"{sys.executable} {tmp_path}/driver.py {tmp_path}"
    options = ["--mem=700M", "--cpus-per-task=2", "--exclusive", f"--output={tmp_path}/log"]
    job = slurm.ask("sbatch", "--parsable", *options, "--wrap", command)
    wait_until(lambda: not slurm.waiting_or_running(), 120, "the driver has ended")
    assert slurm.end_of(job) == ("COMPLETED", 0), (tmp_path / "log").read_text()
    lines = [line.split() for line in (tmp_path / "seen").read_text().splitlines()]
    assert len(lines) == 4
    for their_job, cpus, memory, name in lines:
        assert their_job != job
        assert (cpus, memory) == ("1", "300")
        assert name.startswith("daisy-t-")
