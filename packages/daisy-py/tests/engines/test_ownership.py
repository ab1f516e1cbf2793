"""Every job is somebody's: none outlives its driver, a later driver ends what is left, strangers are let alone."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import daisy
import fake_engine as fake
import pytest
from daisy.launchers import Lsf, Pbs, Slurm
from engine_runs import once_started, run
from slurm_cluster import SlurmCluster, wait_until
from strangers import Job

pytestmark = pytest.mark.engine

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


def driver_at_work(folder: Path, slurm: SlurmCluster) -> subprocess.Popen[bytes]:
    """A driver whose four workers are at work; two more wait."""
    script = folder / "driver.py"
    script.write_text(DRIVER)
    driver = subprocess.Popen([sys.executable, str(script), str(folder)], stderr=subprocess.DEVNULL)
    wait_until((folder / "started").exists, 60, "a block has started")
    wait_until(lambda: len(slurm.jobs()) == 6, 30, "two of six jobs wait")
    return driver


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_driver_that_is_asked_to_end_cancels_its_jobs(
    tmp_path: Path, idle_slurm: SlurmCluster, number: signal.Signals
) -> None:
    driver = driver_at_work(tmp_path, idle_slurm)
    driver.send_signal(number)
    assert driver.wait(20) != 0
    wait_until(lambda: not idle_slurm.jobs(), 20, "no job is left")


def test_jobs_of_a_killed_driver_end_by_themselves(
    tmp_path: Path, idle_slurm: SlurmCluster
) -> None:
    """Its workers leave, and jobs that start later find no run: they exit with 0 within seconds."""
    driver = driver_at_work(tmp_path, idle_slurm)
    waiting = [line.split()[0] for line in idle_slurm.jobs() if "PENDING" in line]
    assert len(waiting) == 2
    driver.kill()
    driver.wait()
    wait_until(lambda: not idle_slurm.jobs(), 20, "no job is left")
    for job in waiting:
        assert idle_slurm.end_of(job) == ("COMPLETED", 0)
        assert idle_slurm.seconds_of(job) <= 5


def test_a_driver_that_is_started_again_ends_what_it_left(
    tmp_path: Path, idle_slurm: SlurmCluster, logs: Path
) -> None:
    """Killed with workers at work and jobs that wait, and started again on the same folder at once."""
    driver = driver_at_work(tmp_path, idle_slurm)
    driver.kill()
    driver.wait()
    assert run(2, lambda block: None, Slurm())
    assert not list(logs.glob(".daisy-run-*"))


def test_a_driver_cancels_what_a_killed_one_left_and_nothing_else(logs: Path, batch: Any) -> None:
    """Of two ids that were noted, one has been given to someone else since."""
    folder = logs / ".daisy-run-abcd1234"
    folder.mkdir(parents=True)
    left, other = Job(batch, "daisy-t-abcd1234"), Job(batch, "daisy-t-wxyz9876")
    (folder / "owner").touch()
    name = batch().name
    (folder / "jobs.jsonl").write_text(
        "".join(
            json.dumps({"launcher": name, "worker": "1", "job": job.element}) + "\n"
            for job in (left, other)
        )
    )
    try:
        assert left.lives()
        assert run(2, lambda block: None, batch(), max_workers=1)
        assert not folder.exists()
        wait_until(lambda: not left.lives(), 20, "what was left is cancelled")
        assert other.lives()
    finally:
        other.delete()


@pytest.mark.parametrize("kind", [Lsf, Pbs])
def test_ids_that_a_silent_engine_gave_away_again_are_let_alone(
    tmp_path: Path, fake_engine: Path, kind: Any
) -> None:
    """Silent at the end of a run; when it answers again, it has forgotten all jobs and counts from 1."""
    state = fake_engine / "state"
    launcher = kind()

    def process(block: daisy.Block) -> None:
        (tmp_path / "started").touch()
        wait_until((state / "silent").exists, 60, "the engine is silent")

    thread = once_started(tmp_path / "started", (state / "silent").touch)
    result = run(2, process, launcher, max_workers=1, max_retries=0)
    thread.join()
    assert result, result.errors
    assert [handle.native_id for handle in result.jobs_left] == [result.jobs[0].native_id]
    wait_until(lambda: not fake.jobs(state), 30, "the worker has ended")
    for path in state.glob("*_*"):
        shutil.rmtree(path)
    other = Job(kind, "wanted")
    (state / "silent").unlink()
    try:
        assert other.id == "1"
        wait_until(lambda: not launcher.left(), 60, "it was seen to")
        assert other.lives()
    finally:
        other.delete()


def deaf_while(away: Path, folder: Path) -> Path:
    """Programs of Slurm that do not reach it while a file is there, for the time that a test needs."""
    folder.mkdir()
    for name in ("squeue", "scancel"):
        script = (
            f"#!/bin/sh\nif [ -e {away} ]; then echo Unable to contact slurm controller >&2; exit 1; fi\n"
            f'exec {shutil.which(name)} "$@"\n'
        )
        (folder / name).write_text(script)
        (folder / name).chmod(0o755)
    return folder


def test_ids_that_slurm_gave_away_again_are_let_alone(
    tmp_path: Path, idle_slurm: SlurmCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The controller ends with all that it knew, and its successor counts from the id of our job."""
    launcher = Slurm()
    away = tmp_path / "away"
    monkeypatch.setenv("PATH", str(deaf_while(away, tmp_path / "bin")), prepend=os.pathsep)

    def process(block: daisy.Block) -> None:
        (tmp_path / "started").touch()
        wait_until(away.exists, 60, "the controller is away")

    def stop() -> None:
        idle_slurm.stop_controller()
        away.touch()

    thread = once_started(tmp_path / "started", stop)
    first = 0
    try:
        result = run(2, process, launcher, max_workers=1, max_retries=0)
        thread.join()
        first = int(result.jobs[0].native_id.partition("_")[0])
    finally:
        idle_slurm.start_controller(clean=True, first_job=first)
    assert result, result.errors
    assert result.jobs_left
    other = Job(Slurm, "wanted")
    away.unlink()
    try:
        assert other.element == result.jobs[0].native_id
        wait_until(lambda: not launcher.left(), 60, "it was seen to")
        assert other.lives()
    finally:
        other.delete()
