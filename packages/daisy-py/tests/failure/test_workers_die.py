"""What fails costs what DESIGN says it costs: workers that die, hang, or never connect."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import daisy
import pytest
from quiet_runs import blocks, run


def exit_at_once() -> None:
    os._exit(5)


def kill_self() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def fault() -> None:
    ctypes.string_at(0)


@pytest.mark.parametrize(
    ("die", "says"),
    [(exit_at_once, "5"), (kill_self, "SIGKILL"), (fault, "SIGSEGV")],
)
def test_a_death_costs_one_attempt_and_one_restart(tmp_path: Path, die: Any, says: str) -> None:
    """The block is tried again on a new worker, and the cause is kept."""
    chosen = die

    def process(block: daisy.Block) -> None:
        mark = tmp_path / str(block.block_id[1])
        if block.block_id[1] == 4 and not mark.exists():
            mark.write_text("")
            chosen()

    result = run(blocks(10, process))
    state = result.states["t"]
    assert result, result.errors
    assert state.completed_count == 10
    assert state.worker_failure_count == 1
    assert says in str(state.last_worker_error)


def test_a_block_that_always_kills_its_worker_fails_alone(tmp_path: Path) -> None:
    """After its last attempt the block is failed; the others are done."""

    def process(block: daisy.Block) -> None:
        if block.block_id[1] == 4:
            os.kill(os.getpid(), signal.SIGKILL)

    result = run(blocks(10, process, max_retries=2, max_workers=2))
    state = result.states["t"]
    assert (state.completed_count, state.failed_count) == (9, 1)
    assert state.worker_failure_count == 3
    assert "SIGKILL" in result.errors[0].summary


def test_two_hundred_preemptions_never_end_a_run_that_makes_progress(tmp_path: Path) -> None:
    """Workers are killed 200 times, always on another block of 600: all are done."""

    def process(block: daisy.Block) -> None:
        number = block.block_id[1]
        mark = tmp_path / str(number)
        if number % 3 == 0 and not mark.exists():
            mark.write_text("")
            os.kill(os.getpid(), signal.SIGKILL)

    result = run(blocks(600, process, max_workers=2))
    state = result.states["t"]
    assert result, result.errors
    assert state.completed_count == 600
    assert state.worker_failure_count == 200


def test_memory_limit(tmp_path: Path) -> None:
    """A block that needs more memory than there is fails; the others are done."""
    resource = pytest.importorskip("resource")

    def process(block: daisy.Block) -> None:
        if block.block_id[1] == 2:
            resource.setrlimit(resource.RLIMIT_AS, (1 << 30, resource.RLIM_INFINITY))
            try:
                bytearray(1 << 33)
            finally:
                resource.setrlimit(
                    resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
                )

    result = run(blocks(6, process, max_retries=1))
    state = result.states["t"]
    assert (state.completed_count, state.failed_count) == (5, 1)
    assert "MemoryError" in result.errors[0].summary


def test_a_hang_in_c_that_holds_the_gil_is_ended_by_the_timeout(tmp_path: Path) -> None:
    """The worker is killed, the block reclaimed: one attempt, counted apart from deaths."""

    def process(block: daisy.Block) -> None:
        mark = tmp_path / str(block.block_id[1])
        if block.block_id[1] == 1 and not mark.exists():
            mark.write_text("")
            # PyDLL keeps the GIL for the whole call.
            ctypes.PyDLL(None).sleep(600)

    result = run(blocks(6, process, timeout=3.0))
    state = result.states["t"]
    assert result, result.errors
    assert state.timeout_reclaim_count == 1
    assert state.worker_failure_count == 0
    assert state.completed_count == 6


def test_a_block_that_always_hangs_fails_alone() -> None:
    """Every attempt is ended by the timeout."""

    def process(block: daisy.Block) -> None:
        if block.block_id[1] == 1:
            ctypes.PyDLL(None).sleep(600)

    result = run(blocks(6, process, timeout=2.0, max_retries=1))
    state = result.states["t"]
    assert (state.completed_count, state.failed_count) == (5, 1)
    assert state.timeout_reclaim_count == 2
    assert "timeout" in result.errors[0].summary


@pytest.mark.parametrize("how", ["exit 0", "exit 3", "SIGKILL", "raise"])
def test_workers_that_never_connect_stop_the_launching(how: str) -> None:
    """Three in a row with no success end the task, with the cause."""
    way = how

    def worker() -> None:
        if way == "exit 0":
            sys.exit(0)
        if way == "exit 3":
            os._exit(3)
        if way == "raise":
            raise RuntimeError("no GPU here")
        os.kill(os.getpid(), signal.SIGKILL)

    result = run(blocks(10, worker))
    state = result.states["t"]
    assert not result
    assert state.abandoned
    assert state.orphaned_count == 10
    assert "never connected" in str(state.abandon_reason)
    expected = {"exit 0": "0", "exit 3": "3", "SIGKILL": "SIGKILL", "raise": "no GPU here"}[how]
    assert expected in str(state.abandon_reason)


def test_a_launch_function_may_return_before_its_worker_comes(tmp_path: Path) -> None:
    """As `sbatch` and `bsub` do: the worker is awaited, and what it does counts."""
    script = tmp_path / "worker.py"
    script.write_text(
        "import daisy\n"
        "client = daisy.Client()\n"
        "while True:\n"
        "    with client.acquire_block() as block:\n"
        "        if block is None:\n"
        "            break\n"
    )

    def submit() -> None:
        subprocess.Popen([sys.executable, str(script)], start_new_session=True)

    result = run(blocks(20, submit, max_workers=2))
    state = result.states["t"]
    assert result, state
    assert state.completed_count == 20
    assert state.worker_failure_count == 0


def test_a_submitted_worker_that_never_comes_stops_the_launching(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The wait begins when the launch function has returned, and ends."""
    monkeypatch.setenv("DAISY_CONNECT_TIMEOUT", "1")

    def submit() -> None:
        pass

    result = run(blocks(4, submit))
    state = result.states["t"]
    assert state.abandoned
    assert "did not connect within 1 s" in str(state.abandon_reason)


def test_a_submitted_worker_that_dies_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody tells of its end but its connection; its block is tried again on another."""
    monkeypatch.setenv("DAISY_RECONNECT_GRACE", "1")
    script = tmp_path / "worker.py"
    script.write_text(
        "import os, sys, daisy\n"
        "client = daisy.Client()\n"
        "while True:\n"
        "    with client.acquire_block() as block:\n"
        "        if block is None:\n"
        "            break\n"
        "        if not os.path.exists(sys.argv[1]):\n"
        "            open(sys.argv[1], 'w').close()\n"
        "            os._exit(9)\n"
    )

    def submit() -> None:
        mark = str(tmp_path / "died")
        subprocess.Popen([sys.executable, str(script), mark], start_new_session=True)

    result = run(blocks(6, submit))
    state = result.states["t"]
    assert result, state
    assert (state.completed_count, state.worker_failure_count) == (6, 1)


def test_a_worker_that_hangs_before_it_connects_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its time to connect is bounded; what hangs is ended, and three in a row stop the launching."""
    monkeypatch.setenv("DAISY_CONNECT_TIMEOUT", "1")
    (tmp_path / "pids").touch()  # a busy machine may not get that far in a second

    def worker() -> None:
        with open(tmp_path / "pids", "a") as file:
            file.write(f"{os.getpid()}\n")
        threading.Event().wait()

    result = run(blocks(4, worker))
    state = result.states["t"]
    assert state.abandoned
    assert "within 1 s" in str(state.abandon_reason)
    for pid in (tmp_path / "pids").read_text().split():
        assert not Path(f"/proc/{pid}/environ").exists() or not Path(f"/proc/{pid}/exe").exists()


def test_a_setting_that_is_no_number_of_seconds_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is named, with what it was set to, before anything starts."""
    monkeypatch.setenv("DAISY_CONNECT_TIMEOUT", "soon")
    with pytest.raises(ValueError, match=r"DAISY_CONNECT_TIMEOUT.*soon"):
        run(blocks(1, lambda block: None))


def test_the_restart_budget_ends_a_task_whose_workers_only_die() -> None:
    """Deaths in a row with no block completed between: the task is abandoned, others go on."""

    def process(block: daisy.Block) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def fine(block: daisy.Block) -> None:
        pass

    bad = blocks(100, process, max_worker_restarts=3, task_id="bad", give_up_after=None)
    result = run(bad | blocks(20, fine, task_id="good"))
    assert not result
    assert result.states["bad"].abandoned
    assert "max_worker_restarts=3" in str(result.states["bad"].abandon_reason)
    assert result.states["good"].completed_count == 20
    assert result.states["bad"].worker_failure_count == 4


def test_a_worker_that_does_one_block_and_returns_is_replaced_free_of_charge() -> None:
    """Recycled workers cost nothing, however many there are."""

    def worker() -> None:
        with daisy.Client().acquire_block() as block:
            assert block is None or block.task_id == "t"

    result = run(blocks(30, worker, max_workers=2))
    assert result, result.errors
    assert result.states["t"].completed_count == 30
    assert result.states["t"].worker_failure_count == 0


def test_two_tasks_share_a_gpu_and_one_worker_dies(tmp_path: Path) -> None:
    """What a dead worker held is free again; an idle worker of one task does not starve the other."""

    def process(block: daisy.Block) -> None:
        mark = tmp_path / "died"
        if block.block_id[1] == 2 and not mark.exists():
            mark.write_text("")
            os.kill(os.getpid(), signal.SIGKILL)

    first = blocks(6, process, task_id="first", requires={"gpu": 1}, max_workers=2)
    second = blocks(6, process, task_id="second", requires={"gpu": 1}, max_workers=2)
    result = run(first + second, resources={"gpu": 1})
    assert result, result.errors


def test_a_requirement_larger_than_the_budget_is_an_error_before_the_start() -> None:
    """Nothing is launched for a task that could never run."""

    def process(block: daisy.Block) -> None:
        raise AssertionError("must not run")

    with pytest.raises(ValueError, match="gpu"):
        run(blocks(2, process, requires={"gpu": 2}), resources={"gpu": 1})


def test_the_cause_of_a_death_is_this_worker_s_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Logs are appended to from run to run; the last lines of another run are not the cause."""
    monkeypatch.chdir(tmp_path)

    def complain(block: daisy.Block) -> None:
        os.write(2, b"the disk of the first run is full\n")
        os._exit(1)

    def die(block: daisy.Block) -> None:
        os._exit(1)

    first = run(blocks(1, complain, max_retries=0))
    assert "first run" in str(first.states["t"].last_worker_error)
    second = run(blocks(1, die, max_retries=0))
    assert "first run" not in str(second.states["t"].last_worker_error)
