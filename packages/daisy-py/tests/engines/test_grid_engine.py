"""Workers on a real Grid Engine whose daemons and hosts go away and come back."""

from __future__ import annotations

from pathlib import Path

import daisy
import pytest
from daisy.launchers import GridEngine
from engine_runs import once_started, run
from grid_engine_cluster import GridEngineCluster
from slurm_cluster import wait_until

pytestmark = pytest.mark.engine


def test_what_a_lost_host_did_is_done_when_it_is_back(
    tmp_path: Path, grid_engine: GridEngineCluster
) -> None:
    """Killed with its workers and the daemon that knows of them: what is left is done by others."""

    def process(block: daisy.Block) -> None:
        if not (tmp_path / "back").exists():
            (tmp_path / "started").touch()
            wait_until(lambda: False, 120, "its host is lost")

    def lose() -> None:
        grid_engine.lose_host()
        (tmp_path / "back").touch()
        grid_engine.return_host()

    thread = once_started(tmp_path / "started", lose)
    result = run(4, process, GridEngine(), max_workers=1)
    thread.join()
    assert result, result.errors
    assert len(result.jobs) == 2
    assert not result.jobs_left


def test_a_silent_master_is_no_death(tmp_path: Path, grid_engine: GridEngineCluster) -> None:
    """While the master is down, workers work, and nothing is declared dead."""

    def process(block: daisy.Block) -> None:
        (tmp_path / "started").touch()
        wait_until((tmp_path / "go-on").exists, 60, "the master is back")

    def interrupt() -> None:
        grid_engine.stop_master()
        (tmp_path / "go-on").touch()
        grid_engine.start_master()

    thread = once_started(tmp_path / "started", interrupt)
    result = run(3, process, GridEngine(), max_workers=1, max_retries=0)
    thread.join()
    assert result, result.errors
    assert result.states["t"].worker_failure_count == 0
