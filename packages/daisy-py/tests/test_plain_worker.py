"""The protocol is enough to write a worker from: one without daisy processes the blocks of a run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import daisy
import pytest

WORKER = Path(__file__).parents[3] / "examples/plain_worker.py"


@pytest.mark.parametrize("tls", ["off", "on"])
def test_a_worker_without_daisy_processes_every_block(
    tmp_path: Path, tls: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAISY_TLS", tls)

    def worker() -> None:
        with (tmp_path / "blocks").open("w") as output:
            subprocess.run([sys.executable, str(WORKER)], check=True, stdout=output)

    rois = (
        daisy.Roi((-10, 0), (225, 95)),
        daisy.Roi((-10, 0), (50, 30)),
        daisy.Roi((0, 5), (30, 20)),
    )
    seen: list[str] = []

    def process(block: daisy.Block) -> None:
        read, write = block.read_roi, block.write_roi
        corners = [list(corner) for corner in (read.begin, read.end, write.begin, write.end)]
        seen.append("read {} to {}, write {} to {}".format(*corners))

    task = daisy.Task("plain", *rois, worker, fit="shrink", max_workers=1)
    result = daisy.run_blockwise(task, progress=False)
    assert result, result
    local = daisy.Task("local", *rois, process, fit="shrink")
    assert daisy.run_blockwise(local, multiprocessing=False, progress=False)

    *blocks, last = (tmp_path / "blocks").read_text().splitlines()
    assert re.fullmatch(rf"{len(seen)} blocks processed", last)
    assert sorted(blocks) == sorted(seen)
    assert len(seen) > 10


LIAR = """
import os, sys
sys.path.insert(0, sys.argv[1])
from plain_worker import GRANTS, READY, REPORTS, REPORT_REFUSED, Place

connection, welcome = Place.from_context(os.environ["DAISY_CONTEXT"]).join()
connection.send(READY, 1)
message = connection.receive()
while message[0] != GRANTS:
    message = connection.receive()
(index, attempt), = message[2]
wrong = [[index + 1, 1], [2**64 - 1, 1], [index, attempt + 1]]
right = [index, attempt]
# Of blocks that it does not hold, of another attempt, and, behind the one that is right, of the same block again.
connection.send(REPORTS, [[*grant, 1000] for grant in (*wrong, right, right)])
refused = []
while len(refused) < 4:
    message = connection.receive()
    if message[0] == REPORT_REFUSED:
        refused.append(message[2])
print(*refused)
connection.leave()
"""


def test_reports_that_are_wrong_are_logged_counted_and_change_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The driver goes on with the next worker."""
    liar = tmp_path / "liar.py"
    liar.write_text(LIAR)

    def worker() -> None:
        if (tmp_path / "said").exists():
            subprocess.run([sys.executable, str(WORKER)], check=True, stdout=subprocess.DEVNULL)
            return
        with (tmp_path / "said").open("w") as said:
            command = [sys.executable, str(liar), str(WORKER.parent)]
            subprocess.run(command, check=True, stdout=said)

    roi = daisy.Roi((0,), (10,))
    task = daisy.Task("t", daisy.Roi((0,), (50,)), roi, roi, worker, max_workers=1, max_retries=0)
    result = daisy.run_blockwise(task, progress=False, summary=False)
    assert isinstance(result, daisy.RunResult)
    assert result, result.errors
    state = result.states["t"]
    assert (tmp_path / "said").read_text().split() == [
        "not_held",
        "not_held",
        "old_attempt",
        "not_held",
    ]
    assert (state.completed_count, state.blocks_processed, state.refused_report_count) == (5, 5, 4)
    assert (state.failed_attempt_count, state.worker_failure_count) == (0, 0)
    assert len([text for text in caplog.messages if "was refused" in text]) == 4
