"""The demo gives the same bytes whatever starts its workers."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from demo_runs import make_input
from hosting_nodes import DaskNodes
from slurm_cluster import SlurmCluster

pytestmark = pytest.mark.engine


def digest(folder: Path) -> dict[str, str]:
    """Every chunk that the demo wrote, and what is in it."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.parent.name != "logs" and "c" in path.parts
    }


def demo(folder: Path, name: str, **env: str) -> dict[str, str]:
    """Run the demo with a launcher in a folder of its own; returns what it wrote."""
    where = folder / name
    where.mkdir()
    volume = make_input(where / "input.zarr")
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "daisy.demo",
            "--input",
            str(volume),
            "--output",
            str(where / "out.zarr"),
            "--workers",
            "2",
            "--launcher",
            name,
        ],
        cwd=where,
        env={**os.environ, "DAISY_HOST": "127.0.0.1", **env},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return digest(where / "out.zarr")


def test_slurm_and_dask_write_what_processes_write(
    tmp_path: Path, slurm: SlurmCluster, dask_nodes: DaskNodes
) -> None:
    expected = demo(tmp_path, "process")
    assert expected
    assert demo(tmp_path, "slurm") == expected
    assert demo(tmp_path, "dask", DASK_SCHEDULER_ADDRESS=dask_nodes.address) == expected
