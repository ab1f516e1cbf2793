"""Launchers by name and as objects: one suite for all."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import daisy
import pytest
from daisy.launchers import Caps, Handle, RunContext, Status, WorkerSpec, load
from daisy.testing import launcher_conformance

ROI, BLOCK = daisy.Roi((0,), (60,)), daisy.Roi((0,), (10,))


def test_threads_are_workers_like_any_other() -> None:
    launcher_conformance("thread")


class Wrapped:
    """A launcher of a user's: starts processes as the built-in one does, and counts."""

    name = "wrapped"
    caps = Caps(max_batch=1)

    def __init__(self) -> None:
        self.started = 0
        self.opened: list[RunContext] = []

    def open(self, run: RunContext) -> None:
        self.opened.append(run)
        self.inner = load("process")
        self.inner.open(run)

    def launch(self, n: int, spec: WorkerSpec) -> list[Handle]:
        assert n == len(spec.workers) == 1
        assert "token" not in " ".join(spec.argv)
        self.started += n
        return self.inner.launch(n, spec)

    def poll(self, handles: Sequence[Handle]) -> Mapping[Handle, Status]:
        return self.inner.poll(handles)

    def cancel(self, handles: Sequence[Handle], grace_s: float) -> None:
        self.inner.cancel(handles, grace_s)

    def close(self, cancel: bool = True) -> None:
        self.inner.close(cancel)


def run(**options: Any) -> daisy.RunResult:
    task = daisy.Task("t", ROI, BLOCK, BLOCK, lambda block: None, **options)
    return daisy.run_blockwise(task, progress=False, summary=False)


def test_an_object_is_used_as_it_is() -> None:
    launcher = Wrapped()
    assert run(launcher=launcher, max_workers=2)
    assert launcher.started >= 1
    assert launcher.opened[0].addresses[0].startswith("127.0.0.1:")


class Hasty(Wrapped):
    """Threads that have a second to connect."""

    name = "hasty"
    caps = Caps(can_kill=False, grace="none", connect_timeout_s=1.0)

    def open(self, run: RunContext) -> None:
        self.inner = load("thread")
        self.inner.open(run)

    def launch(self, n: int, spec: WorkerSpec) -> list[Handle]:
        return self.inner.launch(n, spec)


def test_a_worker_that_is_connected_may_take_longer_than_it_may_take_to_connect() -> None:
    begun: list[int] = []

    def process(block: daisy.Block) -> None:
        begun.append(block.block_id[1])
        threading.Event().wait(3.0)

    task = daisy.Task("t", BLOCK, BLOCK, BLOCK, process, launcher=Hasty(), max_workers=1)
    result = daisy.run_blockwise(task, progress=False, summary=False)
    assert result, result.errors
    assert len(begun) == 1


def test_an_unknown_name_is_an_error_before_anything_starts() -> None:
    with pytest.raises(
        daisy.errors.LauncherUnavailable, match="lsf, pbs, process, ray, sge, slurm, thread"
    ):
        run(launcher="nothing")


class Failing(Wrapped):
    def launch(self, n: int, spec: WorkerSpec) -> list[Handle]:
        raise RuntimeError("the engine is gone")


def test_a_launcher_that_fails_ends_the_task_and_says_why() -> None:
    result = run(launcher=Failing())
    assert not result
    state = result.states["t"]
    assert state.abandoned
    assert "the engine is gone" in str(state.first_worker_error)


def test_wrong_addresses_are_errors_before_anything_starts() -> None:
    task = daisy.Task("t", ROI, BLOCK, BLOCK, lambda block: None)
    with pytest.raises(daisy.errors.DaisyError, match=r"203\.0\.113\.7"):
        daisy.run_blockwise(task, host="203.0.113.7", progress=False, summary=False)
    with pytest.raises(ValueError, match="port"):
        daisy.run_blockwise(task, port=70000, progress=False, summary=False)
