"""Logs on a file system that is full, fills up in mid-run, or cannot be written at all: nothing but output is lost."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from python_scripts import finish, write_script

WAYS = ["fork", "spawn"]
SIZE = 256 * 1024


def obstacle() -> str | None:
    """Why no file system can be mounted here, if so."""
    if sys.platform != "linux" or shutil.which("unshare") is None:
        return "mount namespaces are Linux's"
    mount = ["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    return f"nothing can be mounted: {done.stderr.strip()}" if done.returncode else None


@pytest.fixture(scope="module", autouse=True)
def mounts() -> None:
    reason = obstacle()
    if reason is not None:
        pytest.skip(reason)


SCRIPT = """
import os, pathlib, sys, threading

HERE = pathlib.Path(__file__).parent

def process(block):
    number = block.block_id[1]
    for _ in range(100):
        print("x" * 9_999)
    print("and errors", file=sys.stderr, flush=True)
    (HERE / f"block-{number}").touch()
    # It ends once the warning is there, while the run goes on: this is what a user sees who looks at it.
    while number == 3 and not (HERE / "warned").exists():
        threading.Event().wait(0.01)

if __name__ == "__main__":
    result = daisy.run_blockwise(task(process, max_workers=2), progress=False)
    assert result, result
    assert result.states["t"].worker_failure_count == 0
    print("the end")
"""


def start(folder: Path, options: str, way: str) -> subprocess.Popen[str]:
    """The script, with a file system of its own for logs."""
    script = write_script(folder, SCRIPT)
    logs = folder / "daisy_logs"
    logs.mkdir()
    mount = f'mount -t tmpfs -o size={SIZE} tmpfs "{logs}"'
    again = f'mount -o "remount,{options}" "{logs}" &&' if options else ""
    command = f'{mount} && {again} exec "{sys.executable}" "{script}"'
    return subprocess.Popen(
        ["unshare", "--mount", "sh", "-c", command],
        cwd=folder,
        env={**os.environ, "PYTHONWARNINGS": "error", "DAISY_WORKER_START": way},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("way", WAYS)
def test_a_disk_that_fills_up_with_logs_in_mid_run(tmp_path: Path, way: str) -> None:
    """The driver says so while the run goes on, once, and no block fails."""
    run = start(tmp_path, "", way)
    assert run.stderr is not None
    said = []
    for line in run.stderr:
        said.append(line)
        if "no room left for logs" in line:
            break
    (tmp_path / "warned").touch()
    done = finish(run)
    assert "the end" in done.stdout, said
    assert len(list(tmp_path.glob("block-*"))) == 6
    text = "".join(said) + done.stderr
    assert text.count("no room left for logs") == 1, text


@pytest.mark.parametrize("way", WAYS)
def test_a_disk_of_logs_that_is_read_only(tmp_path: Path, way: str) -> None:
    """Output goes to the console, which one warning says."""
    (tmp_path / "warned").touch()
    done = finish(start(tmp_path, "ro", way))
    assert "the end" in done.stdout
    assert len(list(tmp_path.glob("block-*"))) == 6
    assert done.stderr.count("logs cannot be written") == 1, done.stderr[-2000:]
    assert "x" * 9_999 in done.stdout
