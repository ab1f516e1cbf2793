"""Libraries that people use daisy through give the same voxels on this daisy and on the published one.

Not collected by itself: `nox -s clients` makes the environments, and names this file and their folder.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
FOLDER = Path(os.environ["DAISY_CLIENT_ENVIRONMENTS"])
LIMIT_SECONDS = 600
READ_ALL = """
import sys, numpy, zarr
for name in sys.argv[2:]:
    array = zarr.open(f"{sys.argv[1]}/{name}", mode="r")[:]
    numpy.save(f"{sys.argv[1]}/{name.replace('/', '-')}.npy", array)
"""

pytestmark = pytest.mark.timeout(2 * LIMIT_SECONDS)


def command(environment: str, program: str, folder: Path, *mode: str) -> list[str]:
    """The command that runs a client program in one of the environments."""
    return [str(FOLDER / environment / "bin/python"), str(HERE / program), str(folder), *mode]


def run(environment: str, program: str, folder: Path, *mode: str) -> str:
    """Run a client program to its end, in an empty folder of its own; returns what it printed."""
    folder.mkdir(exist_ok=True)
    done = subprocess.run(
        command(environment, program, folder, *mode),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
    )
    assert done.returncode == 0, f"{program} on {environment}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def voxels(environment: str, folder: Path, *arrays: str) -> list[bytes]:
    """The results, as saved by NumPy, so that shape and type are compared with the values."""
    python = str(FOLDER / environment / "bin/python")
    subprocess.run([python, "-c", READ_ALL, str(folder), *arrays], check=True)
    return [(folder / f"{name.replace('/', '-')}.npy").read_bytes() for name in arrays]


VOLARA = ("data.zarr/mask", "data.zarr/classes")


@pytest.fixture(scope="module")
def volara_published(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """What volara makes on the published daisy."""
    folder = tmp_path_factory.mktemp("published")
    run("published", "volara_program.py", folder, "serial")
    return voxels("published", folder, *VOLARA)


@pytest.mark.parametrize("mode", ["serial", "multiprocessing"])
def test_volara(mode: str, tmp_path: Path, volara_published: list[bytes]) -> None:
    run("ours", "volara_program.py", tmp_path, mode)
    assert voxels("ours", tmp_path, *VOLARA) == volara_published


def test_volara_resumes_a_killed_run(tmp_path: Path, volara_published: list[bytes]) -> None:
    first = subprocess.Popen(
        command("ours", "volara_program.py", tmp_path, "multiprocessing"),
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    wait_for_chunks(first, tmp_path / "data.zarr/mask/c", least=40)
    os.killpg(first.pid, signal.SIGKILL)
    first.wait(LIMIT_SECONDS)
    summary = run("ours", "volara_program.py", tmp_path, "multiprocessing")
    assert skipped_blocks(summary, "mask-threshold") > 0, summary
    assert voxels("ours", tmp_path, *VOLARA) == volara_published


def wait_for_chunks(process: subprocess.Popen[bytes], folder: Path, *, least: int) -> None:
    """Return once so many chunks are on disk."""
    for _ in range(LIMIT_SECONDS * 20):
        if sum(1 for path in folder.rglob("*") if path.is_file()) >= least:
            return
        try:
            process.wait(0.05)
        except subprocess.TimeoutExpired:
            continue
        pytest.fail(f"the run ended with {process.returncode} before it could be killed")
    pytest.fail(f"fewer than {least} chunks after {LIMIT_SECONDS} s")


def skipped_blocks(summary: str, task: str) -> int:
    """The column of that name in the execution summary."""
    row = re.search(rf"{task} \S+ +(\d+) +(\d+) +(\d+)", summary)
    assert row is not None, summary
    return int(row[3])


@pytest.mark.parametrize("mode", ["serial", "multiprocessing"])
def test_funlib_persistence(mode: str, tmp_path: Path) -> None:
    results = []
    for environment in ("published", "ours"):
        folder = tmp_path / environment
        run(environment, "persistence_program.py", folder, mode)
        results.append(voxels(environment, folder, "smooth.zarr"))
    assert results[0] == results[1]


def test_gunpowder(tmp_path: Path) -> None:
    results = []
    for environment in ("published", "ours"):
        folder = tmp_path / environment
        run(f"{environment}-gunpowder", "gunpowder_program.py", folder)
        results.append(voxels(f"{environment}-gunpowder", folder, "data.zarr/out"))
    assert results[0] == results[1]


MIGRATE = Path(__file__).parents[5] / "docs/how-to/migrate.md"
PROGRAMS = dict(
    re.findall(r"```python\n# file: (\S+)\n(.*?)```", MIGRATE.read_text("utf-8"), re.DOTALL)
)


@pytest.mark.parametrize("former", ["2", "1"])
def test_what_the_page_about_moving_calls_before_is_what_was_before(
    former: str, tmp_path: Path
) -> None:
    voxels = []
    for environment in ("published" if former == "2" else "published-1", "ours"):
        folder = tmp_path / environment
        folder.mkdir()
        for name in ("smoothing.py", f"before_{former}.py"):
            (folder / name).write_text(PROGRAMS[name], "utf-8")
        python = str(FOLDER / environment / "bin/python")
        subprocess.run(
            [python, f"before_{former}.py"], cwd=folder, check=True, timeout=LIMIT_SECONDS
        )
        voxels.append([path.read_bytes() for path in sorted(folder.glob("*.npy"))])
    assert voxels[0] == voxels[1]
    assert len(voxels[0]) == (1 if former == "2" else 2)


if __name__ == "__main__":
    sys.exit("run this with nox: nox -s clients")
