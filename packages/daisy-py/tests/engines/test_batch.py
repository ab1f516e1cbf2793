"""What the launchers of jobs have in common, on a real Grid Engine and on imitations of LSF and PBS."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import daisy
import pytest
from daisy.launchers import GridEngine, Lsf, Pbs
from engine_runs import once_started, run
from slurm_cluster import wait_until

pytestmark = pytest.mark.engine


@pytest.fixture(params=[GridEngine, Lsf, Pbs])
def launcher(request: pytest.FixtureRequest) -> Any:
    """The class of a launcher whose engine is there."""
    request.getfixturevalue("grid_engine" if request.param is GridEngine else "fake_engine")
    return request.param


def ask(*argv: str) -> None:
    subprocess.run(argv, check=True, capture_output=True)


def test_jobs_are_known(tmp_path: Path, logs: Path, launcher: Any) -> None:
    result = run(20, lambda block: None, launcher(), max_workers=2)
    assert result, result.errors
    assert len(result.jobs) == 2
    noted = [json.loads(line)["job"] for line in (logs / "jobs.jsonl").read_text().splitlines()]
    assert noted == [handle.native_id for handle in result.jobs]
    assert not result.jobs_left


def test_a_killed_worker_is_replaced(tmp_path: Path, launcher: Any) -> None:
    def process(block: daisy.Block) -> None:
        if block.block_id[1] == 2 and not (tmp_path / "killed").exists():
            (tmp_path / "killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)

    result = run(6, process, launcher())
    assert result, result.errors
    assert result.states["t"].worker_failure_count == 1
    assert len(result.jobs) == 2


def test_what_someone_deletes_costs_no_attempt(tmp_path: Path, launcher: Any) -> None:
    """The block is finished or given back, and the job replaced."""
    names: list[str] = []

    def process(block: daisy.Block) -> None:
        if not (tmp_path / "started").exists():
            (tmp_path / "started").touch()
            wait_until((tmp_path / "deleted").exists, 60, "it is deleted")

    def delete() -> None:
        jobs = tmp_path / "logs/jobs.jsonl"
        names.append(json.loads(jobs.read_text().splitlines()[0])["job"])
        ask("bkill" if launcher is Lsf else "qdel", names[0])
        (tmp_path / "deleted").touch()

    thread = once_started(tmp_path / "started", delete)
    result = run(4, process, launcher(), max_retries=0)
    thread.join()
    assert result, result.errors
    assert len(result.jobs) == 2


def test_what_is_refused_is_told(launcher: Any) -> None:
    result = run(3, lambda block: None, launcher(queue="nowhere"))
    assert not result
    assert "refused the job" in (result.states["t"].abandon_reason or "")
    assert "queue" in (result.states["t"].abandon_reason or "")


def test_a_wrong_python_is_told(launcher: Any) -> None:
    result = run(3, lambda block: None, launcher(python="/no/such/python"))
    assert not result
    assert "/no/such/python" in (result.states["t"].abandon_reason or "")


def test_a_run_longer_than_its_jobs_goes_on(launcher: Any) -> None:
    """Each worker leaves by its own clock: 57 of 60 s are notice."""

    def process(block: daisy.Block) -> None:
        import threading

        threading.Event().wait(0.3)

    result = run(20, process, launcher(time=60, notice=57), max_retries=0)
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
