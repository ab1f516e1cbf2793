"""Workers on a real Slurm that are made to leave, by time limits, preemption, people, broken nodes."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path

import daisy
import pytest
from daisy.launchers import Slurm
from slurm_cluster import SlurmCluster, wait_until
from slurm_runs import once_started, run, touch

# No job and no worker outlives its run.
pytestmark = [pytest.mark.engine, pytest.mark.usefixtures("idle_slurm")]


def pause(seconds: float) -> None:
    threading.Event().wait(seconds)


@pytest.mark.soak
def test_a_run_longer_than_its_jobs_goes_on_by_the_clock_of_slurm() -> None:
    """Slurm's own signal, up to a minute early, and its time limit."""
    result = run(150, lambda block: pause(1), Slurm(time=120, notice=60), max_retries=0)
    assert result, result.errors
    assert result.states["t"].worker_failure_count == 0
    assert len(result.jobs) >= 2


def test_notice_before_a_worker_listens_costs_nothing(tmp_path: Path) -> None:
    """Six workers in a row are told to leave before there is anyone to hear it; the seventh does the work."""
    prologue = f"for n in 1 2 3 4 5 6; do mkdir {tmp_path}/$n 2>/dev/null && kill -TERM $$; done"
    result = run(2, touch(tmp_path), Slurm(prologue=prologue), max_retries=0)
    assert result, result.states["t"].abandon_reason
    assert result.states["t"].worker_failure_count == 0
    assert len(result.jobs) == 7


def test_preemption_costs_no_attempt(tmp_path: Path, slurm: SlurmCluster) -> None:
    """A job of more importance takes the place: the worker leaves within its grace, and comes back after it."""
    seen = tmp_path / "seen"

    def process(block: daisy.Block) -> None:
        (tmp_path / "started").touch()
        pause(0.5)
        with seen.open("a") as file:
            file.write(f"{block.block_id[1]}\n")

    def preempt() -> None:
        subprocess.run(
            ["sbatch", "--nodes=2", "--exclusive", "--output=/dev/null"],
            input="#!/bin/sh\nsleep 3\n",
            text=True,
            check=True,
            capture_output=True,
        )

    thread = once_started(tmp_path / "started", preempt)
    result = run(16, process, Slurm(partition="low"), max_retries=0)
    thread.join()
    assert result, result.errors
    assert sorted(map(int, seen.read_text().split())) == list(range(16))
    assert len(result.jobs) >= 2


def test_a_node_that_is_lost_to_slurm_only_does_its_work(
    tmp_path: Path, slurm: SlurmCluster
) -> None:
    """The worker lives on and is connected, and that is the truth."""
    started, go_on = tmp_path / "started", tmp_path / "go-on"

    def process(block: daisy.Block) -> None:
        started.touch()
        wait_until(go_on.exists, 60, "the node is away")

    def stop() -> None:
        for node in (1, 2):
            slurm.stop_node(node)
        go_on.touch()

    thread = once_started(started, stop)
    try:
        result = run(3, process, max_retries=0)
        thread.join()
        wait_until(lambda: not slurm.workers(), 30, "no worker lives")
    finally:
        for node in (1, 2):
            # Or Slurm would look for what has ended long ago for the better part of a minute.
            slurm.lose_node(node)
            slurm.return_node(node)
    assert result, result.errors
    assert result.states["t"].worker_failure_count == 0


def test_what_a_lost_node_did_is_done_by_another(tmp_path: Path, slurm: SlurmCluster) -> None:
    """All that ran on it is killed at once; its workers are replaced on the other, and it may come back."""
    log = tmp_path / "log"

    def process(block: daisy.Block) -> None:
        with log.open("a") as file:
            file.write(f"{block.block_id[1]} {os.environ['SLURMD_NODENAME']}\n")
        if os.environ["SLURMD_NODENAME"] == "n1":
            (tmp_path / "started").touch()
            wait_until(lambda: False, 120, "its node is lost")
        wait_until((tmp_path / "started").exists, 60, "the other node is at work")

    thread = once_started(tmp_path / "started", lambda: slurm.lose_node(1))
    try:
        result = run(6, process, max_workers=4)
        thread.join()
    finally:
        slurm.return_node(1)
    assert result, result.errors
    done = [line.split() for line in log.read_text().splitlines()]
    assert {number for number, node in done if node == "n2"} == set("012345")
    assert {slurm.end_of(handle.native_id)[0] for handle in result.jobs} >= {"NODE_FAIL"}
    assert not result.jobs_left


def test_a_silent_controller_is_no_death(tmp_path: Path, slurm: SlurmCluster) -> None:
    """While the controller is down, workers work, and nothing is declared dead."""
    started, go_on = tmp_path / "started", tmp_path / "go-on"

    def process(block: daisy.Block) -> None:
        started.touch()
        wait_until(go_on.exists, 60, "the controller is back")

    def interrupt() -> None:
        slurm.stop_controller()
        go_on.touch()
        slurm.start_controller()

    thread = once_started(started, interrupt)
    result = run(3, process, max_retries=0)
    thread.join()
    assert result, result.errors
    assert result.states["t"].worker_failure_count == 0


def test_jobs_of_a_silent_controller_are_cancelled_when_it_is_back(
    tmp_path: Path, slurm: SlurmCluster
) -> None:
    """A run that ends meanwhile says which jobs may be left, and goes on trying."""

    # Six workers for four places: two wait.
    def hold(block: daisy.Block) -> None:
        (tmp_path / f"block-{block.block_id[1]}").touch()
        wait_until((tmp_path / "go-on").exists, 120, "the controller is away")

    def away() -> None:
        slurm.stop_controller()
        (tmp_path / "go-on").touch()

    thread = once_started(tmp_path / "block-0", away)
    try:
        result = run(6, hold, max_workers=6, max_retries=0)
        thread.join()
    finally:
        slurm.start_controller()
    assert result, result.errors
    assert result.jobs_left
    assert set(result.jobs_left) <= set(result.jobs)
