"""Workers that die, end, or are stopped in the middle of a run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from faults.program import run_well, start


def test_twenty_preemptions_do_not_end_a_run(tmp_path: Path) -> None:
    program = """
    import signal

    def function(block):
        number = block.block_id[1]
        killed = Path("killed", str(number))
        if number % 3 == 0 and not killed.exists():
            killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        note("done", str(number))

    os.makedirs("killed", exist_ok=True)
    os.makedirs("done", exist_ok=True)
    print(bool(daisy.run_blockwise(line("t", 60, function, max_workers=2, max_retries=3))))
    """
    assert run_well(tmp_path, program, timeout=240) == "True"
    assert len(os.listdir(tmp_path / "killed")) == 20
    assert len(os.listdir(tmp_path / "done")) == 60


def test_workers_that_end_after_one_block_are_followed_by_others(tmp_path: Path) -> None:
    program = """
    def worker():
        client = daisy.Client()
        with client.acquire_block() as block:
            if block is not None:
                note(".", f"done-{block.block_id[1]}")

    print(bool(daisy.run_blockwise(line("t", 30, worker, max_workers=2))))
    """
    assert run_well(tmp_path, program, timeout=240) == "True"
    assert len(list(tmp_path.glob("done-*"))) == 30


def test_tasks_that_share_a_resource_do_not_wait_for_each_other_for_ever(tmp_path: Path) -> None:
    program = """
    def first(block):
        crashed = Path("crashed")
        if not crashed.exists():
            crashed.touch()
            os._exit(1)

    a = line("a", 4, first, requires={"gpu": 1})
    b = line("b", 4, lambda block: None, requires={"gpu": 1})
    states = daisy.run_blockwise(a + b, resources={"gpu": 1}, return_states=True)
    print(json.dumps([counts(states)[task][4] for task in "ab"]))
    """
    assert json.loads(run_well(tmp_path, program)) == [4, 4]


SLOW = """
def function(block):
    Path(f"pid-{os.getpid()}").touch()
    note(".", "begun")
    threading.Event().wait(60)

if __name__ == "__main__":
    try:
        daisy.run_blockwise(line("t", 100, function, max_workers=2))
    except KeyboardInterrupt as interrupt:
        print("interrupted", counts(interrupt.daisy_result.states)["t"][0])
        sys.exit(3)
"""


@pytest.fixture
def slow_run(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A run with blocks of a minute, once the first has begun."""
    process = start(tmp_path, SLOW)
    assert wait_until(process, lambda: (tmp_path / "begun").exists(), seconds=60)
    yield process
    if process.poll() is None:
        process.kill()
    process.communicate()


def wait_until(
    process: subprocess.Popen[str], condition: Callable[[], bool], *, seconds: float
) -> bool:
    """Look every 50 ms whether the condition holds, while the process lives."""
    for _ in range(int(seconds * 20)):
        if condition():
            return True
        try:
            process.wait(0.05)
        except subprocess.TimeoutExpired:
            continue
        break
    return condition()


def living(folder: Path) -> list[int]:
    """Workers that are still there."""
    pids = [int(path.name.removeprefix("pid-")) for path in folder.glob("pid-*")]
    return [pid for pid in pids if is_running(pid)]


def is_running(pid: int) -> bool:
    """Whether there is such a process, and it has not ended."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def test_sigint_to_the_driver_alone_ends_the_run_at_once(
    slow_run: subprocess.Popen[str], tmp_path: Path
) -> None:
    slow_run.send_signal(signal.SIGINT)
    stdout, stderr = slow_run.communicate(timeout=10)
    assert slow_run.returncode == 3, stderr
    assert "interrupted 100" in stdout
    assert "Execution Summary" in stdout
    assert living(tmp_path) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_workers_do_not_outlive_their_driver(
    slow_run: subprocess.Popen[str], tmp_path: Path, number: signal.Signals
) -> None:
    slow_run.send_signal(number)
    slow_run.communicate(timeout=10)
    with subprocess.Popen(["sleep", "10"], text=True) as clock:
        try:
            assert wait_until(clock, lambda: not living(tmp_path), seconds=6)
        finally:
            clock.kill()
