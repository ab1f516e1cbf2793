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
