"""Engines to test with: those that are not here are not tested."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from daisy import logging as daisy_logging
from slurm_cluster import SlurmCluster


@pytest.fixture(scope="session")
def slurm_of_session() -> Iterator[SlurmCluster]:
    """A Slurm that all tests share."""
    if SlurmCluster.missing():
        pytest.skip(f"not installed: {', '.join(SlurmCluster.missing())}")
    # Not in pytest's folder: that is closed to others, and munge wants its socket where all can reach it.
    folder = Path(tempfile.mkdtemp(prefix="daisy-slurm-"))
    folder.chmod(0o755)
    cluster = SlurmCluster(folder)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture
def slurm(slurm_of_session: SlurmCluster, monkeypatch: pytest.MonkeyPatch) -> SlurmCluster:
    """The same, and proof that the test left no job in its queue."""
    for name, value in slurm_of_session.env.items():
        monkeypatch.setenv(name, value)
    return slurm_of_session


@pytest.fixture(autouse=True)
def logs(tmp_path: Path) -> Iterator[Path]:
    """Logs of each test in a folder of its own."""
    before = daisy_logging.get_log_basedir()
    daisy_logging.set_log_basedir(tmp_path / "logs")
    yield tmp_path / "logs"
    daisy_logging.set_log_basedir(before)
