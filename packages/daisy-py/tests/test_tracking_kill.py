"""Drivers that are killed, and runs that go on where they stopped."""

from __future__ import annotations

import logging
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import daisy
import numpy as np
import pytest
import tracking_driver
from daisy.errors import StoreLocked

zarr: Any = pytest.importorskip("zarr")

BLOCKS = 400
SECONDS = 0.002
IN_FLIGHT = 2 * 4
"""Two workers, each with one block that runs and a few milliseconds of blocks around it."""


def start(
    folder: Path, how: str, *, blocks: int = BLOCKS, seconds: float = SECONDS
) -> subprocess.Popen[bytes]:
    arguments = [str(folder), str(blocks), str(seconds), how]
    return subprocess.Popen([sys.executable, tracking_driver.__file__, *arguments])


def wait_for_lines(folder: Path, process: subprocess.Popen[bytes], count: int) -> None:
    """Wait until so many blocks ran, or the driver has ended."""
    path = folder / "log.txt"
    while process.poll() is None:
        try:
            if path.stat().st_size >= 2 * count:
                return
        except FileNotFoundError:
            pass
        try:
            process.wait(0.002)
        except subprocess.TimeoutExpired:
            continue


def wait_until_quiet(folder: Path) -> list[int]:
    """What ran, once the workers of the killed driver have ended: each writes until it notices."""
    before = -1
    ran = tracking_driver.logged(folder)
    probe = subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE
    )
    try:
        while len(ran) != before:
            before = len(ran)
            with pytest.raises(subprocess.TimeoutExpired):
                probe.wait(0.1)
            ran = tracking_driver.logged(folder)
    finally:
        probe.communicate()
    return ran


def marked(folder: Path) -> set[int]:
    path = folder / "store"
    if not (path / "done" / "zarr.json").exists():
        return set()
    done = zarr.open_array(path / "done", mode="r")[...]
    return set(np.flatnonzero(done).tolist())


def trial(folder: Path, how: str, seed: int) -> None:
    """Kill a driver once or twice at random moments, resume, and compare what ran with what was marked."""
    choose = random.Random(seed)
    repeated = 0
    for _ in range(choose.choice([1, 1, 2])):
        process = start(folder, how)
        wait_for_lines(folder, process, choose.randrange(BLOCKS))
        # A moment that has nothing to do with the lines.
        deadline = time.monotonic() + choose.random() * 0.02
        while time.monotonic() < deadline:
            pass
        process.kill()
        process.wait()
        ran, done = Counter(wait_until_quiet(folder)), marked(folder)
        assert done <= set(ran), "a block is marked that never ran"
        unmarked = set(ran) - done
        assert len(unmarked) <= IN_FLIGHT, f"{len(unmarked)} blocks ran and are not marked"
        repeated += len(unmarked)
    assert start(folder, how).wait() == 0
    ran = Counter(tracking_driver.logged(folder))
    assert set(ran) == set(range(BLOCKS)), "a block was lost"
    assert sum(ran.values()) - BLOCKS <= repeated, "blocks ran again that were marked"
    assert marked(folder) == set(range(BLOCKS))


@pytest.mark.parametrize("how", ["process", "thread", "serial"])
def test_a_killed_run_goes_on_where_it_stopped(tmp_path: Path, how: str) -> None:
    for seed in range(3):
        (folder := tmp_path / str(seed)).mkdir()
        trial(folder, how, seed)


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_fifty_kills(tmp_path: Path) -> None:
    for seed in range(50):
        (folder := tmp_path / str(seed)).mkdir()
        trial(folder, ("process", "thread", "serial")[seed % 3], 1000 + seed)


def test_the_lock_of_a_living_run_is_respected_and_that_of_a_killed_one_taken_over(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    process = start(tmp_path, "process", blocks=100_000)
    try:
        wait_for_lines(tmp_path, process, 10)
        work = tracking_driver.task(tmp_path, 100_000)
        with pytest.raises(StoreLocked, match=f"process {process.pid} on "):
            daisy.run_blockwise(work, progress=False, summary=False)
    finally:
        process.kill()
        process.wait()
    work.process_function = lambda block: None
    with caplog.at_level(logging.WARNING, "daisy"):
        assert daisy.run_blockwise(work, worker_processes=False, progress=False, summary=False)
    assert (
        f"took over the lock of the tracking store at {tmp_path / 'store'}: process {process.pid} on"
        in caplog.text
    )


def test_an_interrupted_run_has_marked_what_it_did(tmp_path: Path) -> None:
    process = start(tmp_path, "process", blocks=100_000)
    wait_for_lines(tmp_path, process, 50)
    process.send_signal(signal.SIGINT)
    assert process.wait() != 0
    ran, done = set(wait_until_quiet(tmp_path)), marked(tmp_path)
    assert done <= ran
    assert len(ran - done) <= IN_FLIGHT
    assert not (tmp_path / "store/done/run.lock").exists()
