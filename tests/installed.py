"""Prove that the installed daisy, not the source tree, runs a pipeline with worker processes.

Plain Python with no test runner, because it also runs in containers that have none.
"""

from __future__ import annotations

import sys
from pathlib import Path

import daisy


def nothing(block: daisy.Block) -> None:
    """Stand for the work of a block."""


def main() -> str | None:
    """Return what is wrong, or nothing."""
    if "site-packages" not in Path(daisy.__file__).parts:
        return f"daisy comes from {daisy.__file__}, expected the installed one in site-packages"
    task = daisy.Task(
        "installed",
        total_roi=daisy.Roi((0, 0), (40, 40)),
        read_roi=daisy.Roi((-2, -2), (14, 14)),
        write_roi=daisy.Roi((0, 0), (10, 10)),
        process_function=nothing,
        max_workers=2,
    )
    if not daisy.run_blockwise(task, progress=False):
        return "the run of a function that does nothing failed"
    return None


if __name__ == "__main__":
    sys.exit(main())
