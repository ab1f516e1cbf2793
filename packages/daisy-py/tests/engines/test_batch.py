"""What the launchers of jobs have in common, on a real Slurm and Grid Engine, on imitations of LSF and PBS."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from pathlib import Path
from typing import Any

import daisy
import pytest
from daisy.launchers import Lsf, Slurm
from engine_runs import once_started, run
from slurm_cluster import wait_until

pytestmark = pytest.mark.engine


DELETE = {Slurm: "scancel", Lsf: "bkill"}


def ask(*argv: str) -> None:
    subprocess.run(argv, check=True, capture_output=True)


def test_jobs_are_known(tmp_path: Path, logs: Path, batch: Any) -> None:
    result = run(20, lambda block: None, batch(), max_workers=2)
    assert result, result.errors
    assert len(result.jobs) == 2
    noted = [json.loads(line)["job"] for line in (logs / "jobs.jsonl").read_text().splitlines()]
    assert noted == [handle.native_id for handle in result.jobs]
    assert not result.jobs_left


def test_a_killed_worker_is_replaced(tmp_path: Path, batch: Any) -> None:
    def process(block: daisy.Block) -> None:
        if block.block_id[1] == 2 and not (tmp_path / "killed").exists():
            (tmp_path / "killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)

    result = run(6, process, batch())
    assert result, result.errors
    assert result.states["t"].worker_failure_count == 1
    assert len(result.jobs) == 2


def test_what_someone_deletes_costs_no_attempt(tmp_path: Path, batch: Any) -> None:
    """The block is finished or given back, and the job replaced."""
    names: list[str] = []

    def process(block: daisy.Block) -> None:
        if not (tmp_path / "started").exists():
            (tmp_path / f"first-{os.getpid()}").touch()
            (tmp_path / "started").touch()
            wait_until((tmp_path / "deleted").exists, 60, "it is deleted")
        elif (tmp_path / f"first-{os.getpid()}").exists():
            threading.Event().wait(0.3)  # its signal is still on the way

    def delete() -> None:
        jobs = tmp_path / "logs/jobs.jsonl"
        names.append(json.loads(jobs.read_text().splitlines()[0])["job"])
        ask(DELETE.get(batch, "qdel"), names[0])
        (tmp_path / "deleted").touch()

    thread = once_started(tmp_path / "started", delete)
    result = run(40, process, batch(), max_retries=0)
    thread.join()
    assert result, result.errors
    assert len(result.jobs) == 2


def test_what_waits_may_be_deleted_by_someone(tmp_path: Path, batch: Any) -> None:
    """Six workers for four places: those that wait are taken away, and the others do the work."""

    def process(block: daisy.Block) -> None:
        (tmp_path / f"started-{block.block_id[1]}").touch()
        wait_until((tmp_path / "deleted").exists, 60, "those that wait are deleted")

    def delete() -> None:
        wait_until(lambda: len(list(tmp_path.glob("started-*"))) == 4, 60, "four are at work")
        jobs = (tmp_path / "logs/jobs.jsonl").read_text().splitlines()
        for line in jobs[4:6]:
            ask(DELETE.get(batch, "qdel"), json.loads(line)["job"])
        (tmp_path / "deleted").touch()

    thread = once_started(tmp_path / "started-0", delete)
    result = run(6, process, batch(), max_workers=6, max_retries=0)
    thread.join()
    assert result, result.states["t"].abandon_reason
    assert result.states["t"].worker_failure_count == 0


def test_stop_with_work_left_leaves_nothing(tmp_path: Path, batch: Any) -> None:
    """One block fails for good, and the task is given up while others are at work and workers wait."""

    def process(block: daisy.Block) -> None:
        (tmp_path / f"started-{block.block_id[1]}").touch()
        if block.block_id[1] == 0:
            wait_until((tmp_path / "started-1").exists, 60, "another is at work")
            raise ValueError("this block fails")
        wait_until(lambda: False, 120, "it is killed")

    options = {"max_workers": 6, "max_retries": 0, "give_up_after": 1}
    result = run(8, process, batch(), **options)
    assert not result
    assert not result.jobs_left


@pytest.mark.filterwarnings("ignore:check_function")
def test_an_exception_in_the_driver_leaves_no_job(tmp_path: Path, batch: Any) -> None:
    """It comes out of the run, whose other workers are at work or wait."""

    def check(block: daisy.Block) -> bool:
        if block.block_id[1] == 6:
            wait_until((tmp_path / "started").exists, 60, "one is at work")
            raise ZeroDivisionError("the check of the driver fails")
        return False

    def process(block: daisy.Block) -> None:
        (tmp_path / "started").touch()
        wait_until(lambda: False, 120, "it is killed")

    with pytest.raises(ZeroDivisionError) as error:
        run(8, process, batch(), max_workers=8, check_function=check)
    result = error.value.daisy_result  # type: ignore[attr-defined]
    assert result.cancelled
    assert result.jobs
    assert not result.jobs_left


def test_what_is_refused_is_told(batch: Any) -> None:
    result = run(
        3, lambda block: None, batch(**{"partition" if batch is Slurm else "queue": "nowhere"})
    )
    assert not result
    assert "refused the job" in (result.states["t"].abandon_reason or "")
    words = ("queue", "invalid partition")
    assert any(word in (result.states["t"].abandon_reason or "") for word in words)


def test_a_wrong_python_is_told(batch: Any) -> None:
    result = run(3, lambda block: None, batch(python="/no/such/python"))
    assert not result
    assert "/no/such/python" in (result.states["t"].abandon_reason or "")


def test_a_run_longer_than_its_jobs_goes_on(batch: Any) -> None:
    """Each worker leaves by its own clock: 57 of 60 s are notice."""

    def process(block: daisy.Block) -> None:
        threading.Event().wait(0.3)

    result = run(20, process, batch(time=60, notice=57), max_retries=0)
    assert result, result.errors
    assert result.states["t"].worker_failure_count == 0
    assert len(result.jobs) >= 2


@pytest.mark.parametrize(("limit", "asked"), [("350M", [100, 200, 350]), ("200M", [100, 200, 200])])
def test_memory_grows_after_a_death_of_too_little(
    tmp_path: Path, fake_engine: Path, limit: str, asked: list[int]
) -> None:
    """A block that needs 300 MiB gets them with the third worker, if the limit allows so much."""

    def process(block: daisy.Block) -> None:
        element = Path(os.environ["FAKE_ELEMENT"])
        (element / "eats").write_text("300")
        if json.loads((element / "facts").read_text())["mem_mb"] < 300:
            wait_until(lambda: False, 60, "it is killed")

    launcher = Lsf(mem="100M", memory_growth=2, memory_limit=limit)
    result = run(1, process, launcher, max_retries=2)
    assert bool(result) == (asked[-1] >= 300)
    elements = sorted((fake_engine / "state").glob("*_*"), key=lambda path: int(path.name[:-2]))
    facts = [json.loads((path / "facts").read_text()) for path in elements]
    assert [fact["mem_mb"] for fact in facts] == asked
    if not result:
        assert "TERM_MEMLIMIT" in str(result.errors)
