"""Workers on a real Ray: what happens to actors and workers, and that nothing is left."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import daisy
import pytest
from daisy.launchers import Ray
from engine_runs import once_started, run
from slurm_cluster import is_alive, wait_until

pytestmark = [pytest.mark.engine, pytest.mark.usefixtures("ray_of_session")]


def test_a_killed_worker_is_replaced_by_daisy_alone(tmp_path: Path) -> None:
    def process(block: daisy.Block) -> None:
        if block.block_id[1] == 2 and not (tmp_path / "killed").exists():
            (tmp_path / "killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)

    result = run(6, process, Ray())
    assert result, result.errors
    assert result.states["t"].worker_failure_count == 1
    assert len(result.jobs) == 2


def test_a_killed_actor_takes_its_worker_with_it(tmp_path: Path) -> None:
    def process(block: daisy.Block) -> None:
        if block.block_id[1] == 2 and not (tmp_path / "pids").exists():
            (tmp_path / "pids").write_text(f"{os.getppid()} {os.getpid()}")
            wait_until(lambda: False, 60, "it is killed")

    def kill() -> None:
        wait_until(lambda: " " in (tmp_path / "pids").read_text(), 10, "it is written")
        os.kill(int((tmp_path / "pids").read_text().split()[0]), signal.SIGKILL)

    thread = once_started(tmp_path / "pids", kill)
    result = run(6, process, Ray())
    thread.join()
    assert result, result.errors
    assert len(result.jobs) == 2
    pid = int((tmp_path / "pids").read_text().split()[1])
    wait_until(lambda: not is_alive(pid), 10, "the worker of the killed actor has ended")


def test_more_than_there_is_room_for_wait(tmp_path: Path) -> None:
    def process(block: daisy.Block) -> None:
        (tmp_path / f"pid-{os.getpid()}").touch()
        wait_until(lambda: len(list(tmp_path.glob("pid-*"))) >= 2, 60, "both are at work")

    result = run(8, process, Ray(), max_workers=8)
    assert result, result.errors


def test_a_resource_that_nobody_has_is_told() -> None:
    result = run(2, lambda block: None, Ray(resources={"nobody has it": 1}, max_queue=1))
    assert not result
    assert "ray has no place for it yet" in (result.states["t"].abandon_reason or "")


def test_stop_with_work_left_leaves_nothing(tmp_path: Path, ray_of_session: Any) -> None:
    def process(block: daisy.Block) -> None:
        (tmp_path / f"pid-{os.getpid()}").touch()
        if block.block_id[1] == 0:
            raise ValueError("this block fails")
        wait_until(lambda: False, 60, "it is killed")

    result = run(4, process, Ray(), max_workers=2, max_retries=0, give_up_after=1)
    assert not result
    for path in tmp_path.glob("pid-*"):
        wait_until(lambda path=path: not is_alive(int(path.name[4:])), 20, "no worker is left")
    assert ray_of_session.is_initialized()
    free = ray_of_session.available_resources
    wait_until(lambda: free().get("CPU") == 2, 30, "no actor is left")
