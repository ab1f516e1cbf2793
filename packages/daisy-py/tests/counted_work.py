"""A block function whose attempts go the same way under every kind of worker."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import daisy

BLOCKS = 40


class Work:
    """Counts attempts in files, and fails, dies or hangs where it is told to."""

    def __init__(
        self,
        folder: Path,
        *,
        fail: bool = True,
        die: bool = False,
        hang: bool = False,
        meet: bool = False,
    ) -> None:
        self.folder = str(folder)
        self.fail = fail
        self.meet = meet
        self.die = die
        self.hang = hang

    def __call__(self, block: daisy.Block) -> None:
        """Block 3 always fails, block 5 at first, unless told otherwise.

        If told to: 7 kills its worker at first, 9 hangs at first, and all wait until a worker of the other kind,
        launched or external, has a block, too.
        """
        if self.meet:
            meet(Path(self.folder), "launched", "external")
        index = block.write_roi.begin[0]
        path = Path(self.folder) / str(index)
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(descriptor, b".")
        os.close(descriptor)
        is_first = path.stat().st_size == 1
        if self.fail and (index == 3 or (index == 5 and is_first)):
            block.status = daisy.BlockStatus.FAILED
        if self.die and index == 7 and is_first:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.hang and index == 9 and is_first:
            # Until the test is over, for threads: they cannot be killed.
            while not (Path(self.folder) / "over").exists():
                threading.Event().wait(0.05)


def external(block: daisy.Block) -> None:
    """The same, for ``daisy worker counted_work:external``."""
    folder = Path(os.environ["COUNTED_WORK"])
    if os.environ.get("COUNTED_WORK_MEETS"):
        meet(folder, "external", "launched")
    options = os.environ.get("COUNTED_WORK_OPTIONS", "fail").split()
    told = {name: name in options for name in ("fail", "die", "hang")}
    Work(folder, **told)(block)


def meet(folder: Path, mine: str, other: str) -> None:
    """Say that one kind of worker is there, and wait for the other."""
    (folder / mine).touch()
    while not (folder / other).exists():
        threading.Event().wait(0.01)
