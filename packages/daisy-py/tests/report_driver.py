"""A driver that is killed in mid-run, for tests of the report that is made without its help."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import daisy
import numpy as np

GRID = (6, 8)


class Work:
    """Fails for the second row, and hangs in the last block of each task until the driver is gone."""

    def __init__(self, ready: str) -> None:
        self.ready = ready

    def __call__(self, block: daisy.Block) -> None:
        """Process a block."""
        row, column = block.write_roi.begin
        if row == 1:
            raise ValueError(f"column {column}")
        if (row, column) == (GRID[0] - 1, GRID[1] - 1):
            Path(self.ready).touch()
            threading.Event().wait()


def tasks(folder: Path) -> list[daisy.Task]:
    """The first is done at once; the second has masked, done, failed and unfinished blocks."""
    block = daisy.Roi((0, 0), (1, 1))
    mask = np.zeros(GRID, dtype=bool)
    mask[0, :3] = True
    options = {"read_write_conflict": False, "max_retries": 1, "max_workers": 1}
    total = daisy.Roi((0, 0), GRID)
    first = daisy.Task(
        "first", total, block, block, lambda block: None, resource_tracking=True, **options
    )
    work = Work(str(folder / "ready"))
    second = daisy.Task("second <i>", total, block, block, work, skip_mask=mask, **options)
    return [first, second]


def main() -> None:
    """Argument: the folder that everything lies in."""
    folder = Path(sys.argv[1])
    daisy.set_tracking_basedir(folder / "tracking")
    daisy.logging.set_log_basedir(folder / "logs")
    daisy.run_blockwise(tasks(folder), progress=False, summary=False)


if __name__ == "__main__":
    main()
