"""The demo's own record of every block it finished, independent of daisy's books.

Each worker process appends one line per block to a file of its own, after the block's data are
written. Lines are short and written by one call, so that a killed worker leaves whole lines.
"""

from __future__ import annotations

import json
import os
import socket
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from daisy.demo.job import Job
from daisy.demo.world import Ints


def note(job: Job, run: str, stage: str, begin: Ints) -> None:
    """Record that a stage wrote the block that begins at this voxel."""
    folder = job.records / run / stage
    folder.mkdir(parents=True, exist_ok=True)
    line = json.dumps(list(begin)) + "\n"
    path = folder / f"{socket.gethostname()}-{os.getpid()}.jsonl"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.write(descriptor, line.encode())
    finally:
        os.close(descriptor)


def noted(job: Job, run: str, stage: str) -> Counter[Ints]:
    """How often each block of a stage was written in a run."""
    return Counter(_begins(job.records / run / stage))


def noted_ever(job: Job, stage: str) -> Counter[Ints]:
    """How often each block of a stage was written in all runs on this output."""
    total: Counter[Ints] = Counter()
    if job.records.is_dir():
        for run in job.records.iterdir():
            total += noted(job, run.name, stage)
    return total


def _begins(folder: Path) -> Iterator[Ints]:
    if not folder.is_dir():
        return
    for path in folder.glob("*.jsonl"):
        for line in path.read_text().splitlines():
            yield tuple(json.loads(line))
