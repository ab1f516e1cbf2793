"""Trial of daisy-py and of daisy 2.0.0."""

from __future__ import annotations

import sys
from pathlib import Path

import daisy
import daisy.logging

from adapters.trial import BLOCKS, begin, visit


def task(folder: Path, step: str) -> daisy.Task:
    """A task whose blocks read two voxels more on either side."""

    def work(block: daisy.Block) -> None:
        visit(folder, step, block.write_roi.begin[0] // 10)

    return daisy.Task(
        step,
        total_roi=daisy.Roi((-2,), (BLOCKS * 10 + 4,)),
        read_roi=daisy.Roi((-2,), (14,)),
        write_roi=daisy.Roi((0,), (10,)),
        process_function=work,
        read_write_conflict=False,
        max_workers=2,
        tracking_path=str(folder / "tracking" / step),
    )


def main() -> int:
    """0 if daisy says that all is done."""
    folder = begin()
    daisy.logging.set_log_basedir(folder / "logs")
    first = task(folder, "first")
    chain = (folder / "trial").read_text() == "two steps"
    work = first + task(folder, "second") if chain else first
    return int(not daisy.run_blockwise(work, progress=False))


if __name__ == "__main__":
    sys.exit(main())
