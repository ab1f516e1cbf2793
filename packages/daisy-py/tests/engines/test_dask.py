"""Workers on a Dask that grows, shrinks, or is not there."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import daisy
import pytest
from daisy.errors import LauncherUnavailable
from daisy.launchers import Dask
from engine_runs import once_started, run
from slurm_cluster import wait_until

pytestmark = pytest.mark.engine


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


def test_without_a_client_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DASK_SCHEDULER_ADDRESS", raising=False)
    with pytest.raises(LauncherUnavailable, match=r"Dask\(client\)"):
        run(1, lambda block: None, Dask())
