"""Workers that processes of Dask and Ray host: what happens to hosts, nodes and workers, and that nothing is left."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import daisy
import pytest
from engine_runs import once_started, run
from slurm_cluster import is_alive, wait_until

pytestmark = pytest.mark.engine


def test_a_killed_worker_is_replaced_by_daisy_alone(tmp_path: Path, hosting: Any) -> None:
    def process(block: daisy.Block) -> None:
        if block.block_id[1] == 2 and not (tmp_path / "killed").exists():
            (tmp_path / "killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)

    result = run(6, process, hosting.launcher())
    assert result, result.errors
    assert result.states["t"].worker_failure_count == 1
    assert len(result.jobs) == 2


def end_by(folder: Path, hosting: Any, act: Callable[[int], None]) -> None:
    """Have a run whose first worker, at work, ends with its host; its block is done by the next one."""

    def process(block: daisy.Block) -> None:
        if block.block_id[1] == 2 and not (folder / "pids").exists():
            (folder / "pids.new").write_text(f"{os.getppid()} {os.getpid()}")
            (folder / "pids.new").rename(folder / "pids")
            wait_until(lambda: False, 60, "it is killed")

    def end() -> None:
        act(int((folder / "pids").read_text().split()[0]))

    thread = once_started(folder / "pids", end)
    result = run(6, process, hosting.launcher())
    thread.join()
    assert result, result.errors
    assert result.states["t"].completed_count == 6
    assert len(result.jobs) == 2
    pid = int((folder / "pids").read_text().split()[1])
    wait_until(lambda: not is_alive(pid), 10, "the worker has ended with its host")


def test_a_killed_host_takes_its_worker_with_it(tmp_path: Path, hosting: Any) -> None:
    """The engine starts neither the host task nor the actor anew."""
    end_by(tmp_path, hosting, lambda pid: os.kill(pid, signal.SIGKILL))


def test_what_a_lost_node_did_is_done_by_another(tmp_path: Path, hosting: Any) -> None:
    """The nanny or the raylet is killed with all that it has started, and comes back only after the run."""
    end_by(tmp_path, hosting, hosting.lose)
    hosting.fill()


def test_more_than_there_is_room_for_wait(tmp_path: Path, hosting: Any) -> None:
    def process(block: daisy.Block) -> None:
        (tmp_path / f"pid-{os.getpid()}").touch()
        wait_until(lambda: len(list(tmp_path.glob("pid-*"))) >= 2, 60, "both are at work")

    result = run(8, process, hosting.launcher(), max_workers=8)
    assert result, result.errors
    assert len(list(tmp_path.glob("pid-*"))) == 2


def test_a_resource_is_held_by_one_worker_each(tmp_path: Path, hosting: Any) -> None:
    launcher = hosting.launcher(resources={"tool": 1})
    result = run(6, lambda block: None, launcher, max_workers=4)
    assert result, result.errors


def test_a_resource_that_nobody_has_is_told(hosting: Any) -> None:
    launcher = hosting.launcher(resources={"nobody has it": 1}, max_queue=1)
    result = run(2, lambda block: None, launcher)
    assert not result
    reasons = ("ray has no place for it yet", "no dask worker with {'nobody has it': 1}")
    assert any(reason in (result.states["t"].abandon_reason or "") for reason in reasons)


def test_stop_with_work_left_leaves_nothing(tmp_path: Path, hosting: Any) -> None:
    def process(block: daisy.Block) -> None:
        (tmp_path / f"pid-{os.getpid()}").touch()
        if block.block_id[1] == 0:
            raise ValueError("this block fails")
        wait_until(lambda: False, 60, "it is killed")

    task_options = {"max_workers": 2, "max_retries": 0, "give_up_after": 1}
    result = run(4, process, hosting.launcher(), **task_options)
    assert not result
    for path in tmp_path.glob("pid-*"):
        wait_until(lambda path=path: not is_alive(int(path.name[4:])), 20, "no worker is left")
