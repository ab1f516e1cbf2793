"""A driver in a process of its own, for tests that kill it: what ran is in a log, a line a block."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import daisy


class Log:
    """Appends the number of each block as it ends; lines of several processes do not mix."""

    def __init__(self, path: str, seconds: float) -> None:
        self.path = path
        self.seconds = seconds

    def __call__(self, block: daisy.Block) -> None:
        """Work for a while, then write the line that proves that the block ran."""
        import time

        until = time.monotonic() + self.seconds
        while time.monotonic() < until:
            pass
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(descriptor, b"%d\n" % block.write_roi.begin[0])
        os.close(descriptor)


def task(folder: Path, blocks: int, seconds: float = 0.0) -> daisy.Task:
    """A task of so many blocks in a row, tracked in ``folder``."""
    return daisy.Task(
        "log",
        daisy.Roi((0,), (blocks,)),
        daisy.Roi((0,), (1,)),
        daisy.Roi((0,), (1,)),
        Log(str(folder / "log.txt"), seconds),
        read_write_conflict=False,
        max_workers=2,
        tracking_path=folder / "store",
    )


def logged(folder: Path) -> list[int]:
    """The blocks that ran, in the order in which they ended."""
    path = folder / "log.txt"
    return [int(line) for line in path.read_text().split()] if path.exists() else []


def main() -> None:
    """Arguments: folder, blocks, seconds per block, how."""
    folder, blocks, seconds, how = sys.argv[1:]
    daisy.logging.set_log_basedir(None)
    result = daisy.run_blockwise(
        task(Path(folder), int(blocks), float(seconds)),
        multiprocessing=how != "serial",
        worker_processes=how == "process",
        progress=False,
        summary=False,
    )
    sys.exit(0 if result else 1)


if __name__ == "__main__":
    main()
