"""Engines to test with: those that are not here are not tested."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from daisy import logging as daisy_logging
from daisy.launchers import GridEngine, Lsf, Pbs, Slurm
from fake_engine import jobs as fake_engine_jobs
from fake_engine import make as fake_engine_commands
from grid_engine_cluster import GridEngineCluster
from hosting_nodes import DaskNodes, RayNodes
from slurm_cluster import SlurmCluster, wait_until


def started(kind: Any) -> Iterator[Any]:
    """A cluster in a folder of its own, if its programs are there."""
    if kind.missing():
        pytest.skip(f"not installed: {', '.join(kind.missing())}")
    # Not in pytest's folder: that is closed to others, and munge wants its socket where all can reach it.
    folder = Path(tempfile.mkdtemp(prefix=f"daisy-{kind.__name__}-"))
    folder.chmod(0o755)
    cluster = kind(folder)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture(scope="session")
def slurm_of_session() -> Iterator[SlurmCluster]:
    """A Slurm that all tests share."""
    yield from started(SlurmCluster)


@pytest.fixture
def slurm(slurm_of_session: SlurmCluster, monkeypatch: pytest.MonkeyPatch) -> SlurmCluster:
    """The same, for the programs that the test runs."""
    for name, value in slurm_of_session.env.items():
        monkeypatch.setenv(name, value)
    return slurm_of_session


@pytest.fixture
def idle_slurm(slurm: SlurmCluster) -> Iterator[SlurmCluster]:
    """The same, idle before the test, and after it: no job and no worker outlives its run."""
    slurm.settle()
    yield slurm
    slurm.settle()


@pytest.fixture(scope="session")
def grid_engine_of_session() -> Iterator[GridEngineCluster]:
    """A Grid Engine that all tests share."""
    yield from started(GridEngineCluster)


@pytest.fixture
def grid_engine(
    grid_engine_of_session: GridEngineCluster, monkeypatch: pytest.MonkeyPatch
) -> Iterator[GridEngineCluster]:
    """The same, and proof that the test left no job in its queue."""
    for name, value in grid_engine_of_session.env.items():
        monkeypatch.setenv(name, value)
    yield grid_engine_of_session
    wait_until(lambda: not grid_engine_of_session.workers(), 30, "no worker lives")
    wait_until(lambda: not grid_engine_of_session.jobs(), 30, "no job is left in the queue")


@pytest.fixture
def fake_engine(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """The commands of LSF and PBS, imitated, and proof that no job is left."""
    folder = tmp_path_factory.mktemp("fake")
    monkeypatch.setenv("PATH", str(fake_engine_commands(folder)), prepend=os.pathsep)
    yield folder
    wait_until(lambda: not fake_engine_jobs(folder / "state"), 30, "no job is left")


@pytest.fixture(params=[Slurm, GridEngine, Lsf, Pbs])
def batch(request: pytest.FixtureRequest) -> Any:
    """The class of a launcher of jobs whose engine is there; nothing is left on it after the test."""
    fixtures = {Slurm: "idle_slurm", GridEngine: "grid_engine"}
    request.getfixturevalue(fixtures.get(request.param, "fake_engine"))
    return request.param


@pytest.fixture(scope="session")
def dask_of_session() -> Iterator[DaskNodes]:
    """A Dask that all tests share."""
    pytest.importorskip("distributed")
    with contextlib.closing(DaskNodes()) as nodes:
        yield nodes


@pytest.fixture
def dask_nodes(dask_of_session: DaskNodes) -> Iterator[DaskNodes]:
    """The same with all its nodes and a client, and proof that no run closed it or left a task."""
    distributed = pytest.importorskip("distributed")
    with distributed.Client(dask_of_session.address) as client:
        dask_of_session.client = client
        dask_of_session.fill()
        yield dask_of_session
        assert client.status == "running"
        wait_until(dask_of_session.is_idle, 30, "dask has nothing to do")


@pytest.fixture
def own_dask_client() -> Iterator[Any]:
    """A cluster of its own, for a test that changes it."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.wait_for_workers(2, timeout=60)
        yield client


@pytest.fixture(scope="session")
def ray_of_session() -> Iterator[RayNodes]:
    """A Ray that all tests share."""
    pytest.importorskip("ray")
    with contextlib.closing(RayNodes()) as nodes:
        yield nodes


@pytest.fixture
def ray_nodes(ray_of_session: RayNodes) -> Iterator[RayNodes]:
    """The same with all its nodes, and proof that no run left an actor."""
    ray_of_session.fill()
    yield ray_of_session
    wait_until(ray_of_session.is_idle, 30, "no actor is left")


@pytest.fixture(params=["dask", "ray"])
def hosting(request: pytest.FixtureRequest) -> Any:
    """The nodes of either."""
    return request.getfixturevalue(f"{request.param}_nodes")


@pytest.fixture(autouse=True)
def logs(tmp_path: Path) -> Iterator[Path]:
    """Logs of each test in a folder of its own."""
    before = daisy_logging.get_log_basedir()
    daisy_logging.set_log_basedir(tmp_path / "logs")
    yield tmp_path / "logs"
    daisy_logging.set_log_basedir(before)
