"""Workers that are started by hand, any number, any time; and what a machine can reach."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import daisy
import pytest
from daisy import logging as daisy_logging
from daisy.launchers import Caps, Handle, RunContext, State, Status, WorkerSpec

ROI = daisy.Roi((0,), (10,))
PROGRAM = """
from pathlib import Path

FOLDER = Path(__file__).parent


def process(block):
    (FOLDER / f"block-{block.block_id[1]}").touch()
"""


class NoRoom:
    """A launcher for other machines that never has room."""

    name = "noroom"
    caps = Caps(remote=True, can_queue=True)

    def open(self, run: RunContext) -> None: ...

    def launch(self, n: int, spec: WorkerSpec) -> list[Handle]:
        return []

    def poll(self, handles: Sequence[Handle]) -> Mapping[Handle, Status]:
        return {handle: Status(State.UNKNOWN) for handle in handles}

    def cancel(self, handles: Sequence[Handle], grace_s: float) -> None: ...

    def close(self, cancel: bool = True) -> None: ...


class Waiting:
    """A run that waits for workers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "program.py").write_text(PROGRAM)
        total = daisy.Roi((0,), (200,))
        self.task = daisy.Task(
            "hand",
            total,
            ROI,
            ROI,
            lambda block: None,
            read_write_conflict=False,
            launcher=NoRoom(),
        )
        self.results: list[daisy.RunResult] = []
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()
        pause = threading.Event()
        while not (found := list(folder.glob("logs/.daisy-run-*/hand.context"))):
            pause.wait(0.01)
        while not found[0].read_text().endswith("\n"):
            pause.wait(0.01)
        self.context = found[0]

    def _run(self) -> None:
        options: dict[str, Any] = {"progress": False, "summary": False, "host": "127.0.0.1"}
        self.results.append(daisy.run_blockwise(self.task, **options))

    def start(self, *arguments: str, **env: str) -> subprocess.Popen[str]:
        """Start `daisy ARGUMENTS`."""
        return subprocess.Popen(
            [sys.executable, "-m", "daisy", *arguments],
            env={
                **os.environ,
                "PYTHONPATH": f"{self.folder}:{os.environ.get('PYTHONPATH', '')}",
                **env,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )


@pytest.fixture
def waiting(tmp_path: Path) -> Iterator[Waiting]:
    before = daisy_logging.get_log_basedir()
    daisy_logging.set_log_basedir(tmp_path / "logs")
    run = Waiting(tmp_path)
    yield run
    if run.thread.is_alive():
        worker = run.start("worker", "program:process", "--context", str(run.context))
        worker.communicate(timeout=60)
    run.thread.join(60)
    daisy_logging.set_log_basedir(before)


def test_workers_by_file_and_by_environment_do_the_work(waiting: Waiting, tmp_path: Path) -> None:
    workers = [
        waiting.start("worker", "program:process", "--context", str(waiting.context)),
        waiting.start(
            "worker", "program:process", DAISY_CONTEXT=waiting.context.read_text().strip()
        ),
    ]
    said = [worker.communicate(timeout=60)[0] for worker in workers]
    waiting.thread.join(60)
    assert waiting.results[0]
    assert len(list(tmp_path.glob("block-*"))) == 20
    # One of them may have come when all was done: it says so and is no failure of the run.
    assert any("processed" in text for text in said), said


def test_a_worker_of_a_run_that_is_over_says_so(waiting: Waiting) -> None:
    text = waiting.context.read_text()
    worker = waiting.start("worker", "program:process", "--context", str(waiting.context))
    worker.communicate(timeout=60)
    waiting.thread.join(60)
    late = waiting.start("worker", "program:process", DAISY_CONTEXT=text.strip())
    said = late.communicate(timeout=60)[0]
    assert late.returncode == 2
    assert "daisy worker:" in said


def test_the_network_is_checked_with_the_token(waiting: Waiting, tmp_path: Path) -> None:
    check = waiting.start("check-network", "--context", str(waiting.context))
    said = check.communicate(timeout=60)[0]
    assert check.returncode == 0, said
    assert "127.0.0.1" in said
    assert "yes, the run answers and knows the token" in said


def test_another_token_or_port_is_not_the_run(waiting: Waiting, tmp_path: Path) -> None:
    context = daisy.Context.from_env_string(waiting.context.read_text().strip())
    lines = Path(context["token_file"]).read_text()
    forged = tmp_path / "token"
    # Some other token of the same length.
    forged.write_text("".join("1" if c == "0" else "0" if c == "1" else c for c in lines))
    forged.chmod(0o600)
    context["token_file"] = str(forged)
    context["addresses"] = f"{context['addresses']},127.0.0.1:1"
    check = waiting.start("check-network", "--context", context.to_env())
    said = check.communicate(timeout=60)[0]
    assert check.returncode == 1, said
    assert said.count(": no: ") == 2
    assert "no address of the run can be reached" in said
