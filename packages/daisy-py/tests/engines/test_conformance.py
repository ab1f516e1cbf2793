"""Every launcher passes one suite, with no exception for any."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from daisy.launchers import GridEngine, Lsf, Pbs, Slurm, load
from daisy.testing import LAUNCHER_CHECKS, LauncherBench
from grid_engine_cluster import GridEngineCluster
from slurm_cluster import SlurmCluster

Check = Callable[[LauncherBench], None]
every_check = pytest.mark.parametrize(
    "check", LAUNCHER_CHECKS, ids=lambda check: check.__name__.removeprefix("check_")
)


@every_check
@pytest.mark.parametrize("name", ["process", "thread"])
def test_local(check: Check, name: str, tmp_path: Path) -> None:
    check(LauncherBench(lambda: load(name), tmp_path))


@pytest.mark.engine
@every_check
def test_slurm(check: Check, slurm: SlurmCluster, tmp_path: Path) -> None:
    check(LauncherBench(Slurm, tmp_path))


@pytest.mark.engine
@every_check
def test_grid_engine(check: Check, grid_engine: GridEngineCluster, tmp_path: Path) -> None:
    check(LauncherBench(GridEngine, tmp_path))


@pytest.mark.engine
@every_check
@pytest.mark.parametrize("launcher", [Lsf, Pbs])
def test_imitated(check: Check, fake_engine: Path, launcher: Any, tmp_path: Path) -> None:
    check(LauncherBench(launcher, tmp_path))


@pytest.mark.engine
@every_check
def test_hosting(check: Check, hosting: Any, tmp_path: Path) -> None:
    check(LauncherBench(hosting.launcher, tmp_path))
