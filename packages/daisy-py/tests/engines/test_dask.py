"""Workers on a real Dask: what happens to dask workers and to ours, and that nothing is left."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Any

import daisy
import pytest
from daisy.errors import LauncherUnavailable
from daisy.launchers import Dask
from engine_runs import once_started, run
from slurm_cluster import is_alive, wait_until

pytestmark = pytest.mark.engine


def kill_once(folder: Path, number: int) -> Any:
    """A block function whose worker is killed in one block, the first time."""

    def process(block: daisy.Block) -> None:
        if block.block_id[1] == number and not (folder / "killed").exists():
            (folder / "killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)

    return process


def test_a_killed_worker_is_replaced_by_daisy_alone(tmp_path: Path, dask_client: Any) -> None:
    result = run(6, kill_once(tmp_path, 2), Dask(dask_client))
    assert result, result.errors
    assert result.states["t"].worker_failure_count == 1
    assert len(result.jobs) == 2


def test_a_killed_dask_worker_takes_its_worker_with_it(tmp_path: Path, dask_client: Any) -> None:
    """Its block is done again by another, and the host task is not started anew by Dask."""

    def process(block: daisy.Block) -> None:
        if block.block_id[1] == 2 and not (tmp_path / "pids").exists():
            (tmp_path / "pids").write_text(f"{os.getppid()} {os.getpid()}")
            wait_until(lambda: False, 60, "it is killed")

    def kill() -> None:
        wait_until(lambda: " " in (tmp_path / "pids").read_text(), 10, "it is written")
        os.kill(int((tmp_path / "pids").read_text().split()[0]), signal.SIGKILL)

    thread = once_started(tmp_path / "pids", kill)
    result = run(6, process, Dask(dask_client))
    thread.join()
    assert result, result.errors
    assert len(result.jobs) == 2
    pid = int((tmp_path / "pids").read_text().split()[1])
    wait_until(lambda: not is_alive(pid), 10, "the worker of the killed dask worker has ended")


def test_a_dask_worker_that_is_retired_lets_its_worker_leave(
    tmp_path: Path, own_dask_client: Any
) -> None:
    """It has notice, if Dask leaves it the time; another takes its place in any case."""
    client = own_dask_client

    def process(block: daisy.Block) -> None:
        (tmp_path / "started").touch()
        threading.Event().wait(0.2)

    def retire() -> None:
        busy = [address for address, keys in client.processing().items() if keys]
        client.retire_workers(busy, close_workers=True)

    thread = once_started(tmp_path / "started", retire)
    result = run(20, process, Dask(client))
    thread.join()
    assert result, result.errors
    assert len(result.jobs) == 2


def test_more_than_there_is_room_for_are_not_started(tmp_path: Path, dask_client: Any) -> None:
    go_on = tmp_path / "go-on"

    def process(block: daisy.Block) -> None:
        (tmp_path / f"pid-{os.getpid()}").touch()
        wait_until(lambda: len(list(tmp_path.glob("pid-*"))) >= 2, 60, "both are at work")

    result = run(8, process, Dask(dask_client), max_workers=8)
    assert result, result.errors
    assert len(list(tmp_path.glob("pid-*"))) == 2
    assert not go_on.exists()


def test_a_resource_that_nobody_has_is_told(dask_client: Any) -> None:
    launcher = Dask(dask_client, resources={"GPU": 1}, max_queue=1)
    result = run(2, lambda block: None, launcher)
    assert not result
    assert "no dask worker with {'GPU': 1}" in (result.states["t"].abandon_reason or "")


def test_a_resource_is_held_by_one_worker_each(tmp_path: Path, dask_client: Any) -> None:
    result = run(6, lambda block: None, Dask(dask_client, resources={"tool": 1}), max_workers=4)
    assert result, result.errors


def test_a_cluster_is_scaled_up_and_back(tmp_path: Path, own_dask_client: Any) -> None:
    cluster = own_dask_client.cluster
    before = len(cluster.workers)

    def process(block: daisy.Block) -> None:
        (tmp_path / f"pid-{os.getpid()}").touch()
        wait_until(lambda: len(list(tmp_path.glob("pid-*"))) >= 3, 60, "all three are at work")

    launcher = Dask(own_dask_client, cluster=cluster)
    result = run(3, process, launcher, max_workers=3)
    assert result, result.errors
    wait_until(lambda: len(cluster.workers) == before, 30, "it is as large as before")


def test_stop_with_work_left_leaves_nothing(tmp_path: Path, dask_client: Any) -> None:
    def process(block: daisy.Block) -> None:
        (tmp_path / f"pid-{os.getpid()}").touch()
        if block.block_id[1] == 0:
            raise ValueError("this block fails")
        wait_until(lambda: False, 60, "it is killed")

    task_options = {"max_workers": 2, "max_retries": 0, "give_up_after": 1}
    result = run(4, process, Dask(dask_client), **task_options)
    assert not result
    for path in tmp_path.glob("pid-*"):
        wait_until(lambda path=path: not is_alive(int(path.name[4:])), 20, "no worker is left")


def test_without_a_client_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DASK_SCHEDULER_ADDRESS", raising=False)
    with pytest.raises(LauncherUnavailable, match=r"Dask\(client\)"):
        run(1, lambda block: None, Dask())
