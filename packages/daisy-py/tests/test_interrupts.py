"""Ctrl-C, and drivers that die: nothing is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import textwrap
import threading
import time
from pathlib import Path

import daisy
import pytest
from python_scripts import run_script, start, write_script
from quiet_runs import blocks, run

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


MODES = {
    "process": "{}",
    "thread": "{'worker_processes': False}",
    "serial": "{'multiprocessing': False}",
}
BUSY = {
    "sleeping": "while True: time.sleep(600)",
    "busy": "while True: pass",
    "stubborn": """
    while True:
        try:
            time.sleep(0.01)
        except BaseException:
            return""",
}


@pytest.mark.parametrize("doing", BUSY)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_in_each_mode(tmp_path: Path, mode: str, doing: str, times: int) -> None:
    """The program ends as one that was interrupted, whatever its blocks are doing, and says what was done."""
    script = write_script(
        tmp_path,
        f"""
        import os, time

        def process(block):
            open(f"pid-{{os.getpid()}}", "w").close()
            {textwrap.indent(BUSY[doing], " " * 8).strip()}

        if __name__ == "__main__":
            daisy.run_blockwise(task(process, max_workers=3), progress=False, **{MODES[mode]})
            print("not reached", flush=True)
        """,
    )
    process = start([str(script)], tmp_path)
    wait_until(lambda: list(tmp_path.glob("pid-*")), process)
    for _ in range(times):
        os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == -signal.SIGINT, (process.returncode, out, err)
    assert "not reached" not in out
    if times == 1:
        assert "Run interrupted" in out
    theirs = [pid for pid in worker_pids(tmp_path) if pid != process.pid]
    wait_until(lambda: not any(is_alive(pid) for pid in theirs), seconds=5)


@pytest.mark.parametrize("mode", MODES)
def test_ctrl_c_in_a_check_that_swallows_it(tmp_path: Path, mode: str) -> None:
    """It is asked in the driver, in every mode."""
    script = write_script(
        tmp_path,
        f"""
        import os, time
        from pathlib import Path

        def check(block):
            try:
                Path("checking").touch()
                while not Path("release").exists():
                    time.sleep(0.01)
            except BaseException:
                pass
            return True

        if __name__ == "__main__":
            work = task(lambda block: None, check_function=check)
            daisy.run_blockwise(work, progress=False, **{MODES[mode]})
        """,
    )
    # A check_function gets a warning that is none of this test's business.
    process = start([str(script)], tmp_path, PYTHONWARNINGS="default")
    wait_until((tmp_path / "checking").exists, process)
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == -signal.SIGINT, (process.returncode, out, err)
    assert "Run interrupted" in out


def test_a_thread_that_is_busy_is_stopped_by_the_timeout(tmp_path: Path) -> None:
    """It leaves its block as soon as it runs Python code; the block is tried again."""
    tried = []

    def process(block: daisy.Block) -> None:
        tried.append(block.block_id[1])
        while block.block_id[1] == 2 and tried.count(2) == 1:
            pass

    result = run(blocks(4, process, timeout=3.0, max_workers=2), worker_processes=False)
    assert result, result.errors
    assert result.states["t"].timeout_reclaim_count == 1
    limit = time.monotonic() + 20
    while any(thread.name.startswith("daisy-worker") for thread in threading.enumerate()):
        assert time.monotonic() < limit, threading.enumerate()
        threading.Event().wait(0.01)


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


def test_threads_end_where_every_line_is_traced(tmp_path: Path) -> None:
    """As under a debugger or coverage, whose hooks once kept a stopped thread from its end."""
    run_script(
        tmp_path,
        """
        import sys, threading

        def trace(*_):
            return trace

        sys.settrace(trace)
        threading.settrace(trace)
        for _ in range(3):
            assert daisy.run_blockwise(
                task(lambda block: None, max_workers=2), worker_processes=False, progress=False
            )
        """,
    )


def test_ctrl_c_ends_threads_that_wait_where_every_line_is_traced(tmp_path: Path) -> None:
    script = write_script(
        tmp_path,
        """
        import os, signal, sys, threading, time

        def trace(*_):
            return trace

        def process(block):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(600)

        sys.settrace(trace)
        threading.settrace(trace)
        daisy.run_blockwise(task(process), worker_processes=False, progress=False)
        """,
    )
    process = start([str(script)], tmp_path)
    out, err = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT, (process.returncode, out, err)
