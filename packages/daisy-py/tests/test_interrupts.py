"""Ctrl-C, and drivers that die: nothing is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest
from python_scripts import start, write_script

SLEEPER = """
import os, sys, time

def process(block):
    open(f"pid-{os.getpid()}", "w").close()
    open(f"parent-{os.getppid()}", "w").close()
    time.sleep(600)

if __name__ == "__main__":
    try:
        daisy.run_blockwise(task(process, max_workers=2), progress=False, **OPTIONS)
    except KeyboardInterrupt as error:
        print("interrupted", error.daisy_result, flush=True)
        sys.exit(0)
"""


def begin(folder: Path, options: str, workers: int = 2) -> subprocess.Popen[str]:
    """A run whose blocks sleep, when its workers are in them."""
    script = write_script(folder, SLEEPER.replace("OPTIONS", options))
    process = start([str(script)], folder)
    wait_until(lambda: len(list(folder.glob("pid-*"))) >= workers, process)
    return process


def wait_until(
    condition: object, process: subprocess.Popen[str] | None = None, seconds: float = 30
) -> None:
    """Poll until something is so."""
    limit = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < limit, "it never came"
        if process is not None and process.poll() is not None:
            raise AssertionError(process.communicate())
        threading.Event().wait(0.02)


def worker_pids(folder: Path) -> list[int]:
    return [int(path.name.removeprefix("pid-")) for path in folder.glob("pid-*")]


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that only waits to be collected does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def test_ctrl_c_ends_workers_and_says_what_was_done(tmp_path: Path) -> None:
    process = begin(tmp_path, "{}")
    before = time.monotonic()
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=20)
    took = time.monotonic() - before
    assert process.returncode == 0, (out, err)
    assert "interrupted <daisy.RunResult failed" in out
    assert "Run interrupted" in out
    assert not any(is_alive(pid) for pid in worker_pids(tmp_path))
    assert took < 3.0


@pytest.mark.parametrize("options", ["{'multiprocessing': False}", "{'worker_processes': False}"])
def test_ctrl_c_without_processes(tmp_path: Path, options: str) -> None:
    process = begin(tmp_path, options, workers=1)
    before = time.monotonic()
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 0, (out, err)
    assert "interrupted <daisy.RunResult failed" in out
    assert time.monotonic() - before < 5.0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("way", ["fork", "spawn"])
def test_workers_do_not_outlive_their_driver(
    tmp_path: Path, number: signal.Signals, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does the process that they were forked from."""
    monkeypatch.setenv("DAISY_WORKER_START", way)
    process = begin(tmp_path, "{}")
    parents = [int(path.name.removeprefix("parent-")) for path in tmp_path.glob("parent-*")]
    if way == "spawn":
        assert parents == [process.pid]
    os.kill(process.pid, number)
    process.communicate(timeout=20)
    theirs = worker_pids(tmp_path) + parents
    wait_until(lambda: not any(is_alive(pid) for pid in theirs), seconds=3)


def test_ctrl_c_twice_is_immediate(tmp_path: Path) -> None:
    process = begin(tmp_path, "{}")
    os.kill(process.pid, signal.SIGINT)
    os.kill(process.pid, signal.SIGINT)
    process.communicate(timeout=5)
    wait_until(lambda: not any(is_alive(pid) for pid in worker_pids(tmp_path)), seconds=3)
