"""What a block does in a trial: it notes that it was worked on, and misbehaves as the trial wants.

Standard library only, as it runs in the workers of every package.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

BLOCKS = 40
BAD = 7
"""The block that misbehaves."""


def visit(folder: Path, step: str, index: int) -> None:
    """Work on block ``index`` of ``step`` for 20 ms, or so long that workers of a second step have started."""
    trial = (folder / "trial").read_text()
    note(folder, f"began {step} {index}")
    time.sleep(0.2 if trial == "two steps" else 0.02)
    if index == BAD and trial == "always raises":
        raise ValueError("this block is hard")
    if index == BAD and trial == "raises once" and is_first(folder):
        raise ValueError("this block is hard at first")
    if index == BAD and trial == "worker killed" and is_first(folder):
        os.kill(os.getpid(), signal.SIGKILL)
    note(folder, f"ended {step} {index}")
    if (
        trial == "program killed"
        and len(noted(folder, "ended")) >= BLOCKS // 2
        and is_first(folder)
    ):
        os.kill(int((folder / "program").read_text()), signal.SIGKILL)
        time.sleep(60)  # what becomes of a worker now is up to the package


def note(folder: Path, line: str) -> None:
    """Append a line in one piece."""
    with (folder / "visits").open("ab", buffering=0) as file:
        file.write(f"{line}\n".encode())


def noted(folder: Path, word: str) -> list[str]:
    """The lines that begin with ``word``."""
    path = folder / "visits"
    lines = path.read_text().splitlines() if path.exists() else []
    return [line for line in lines if line.startswith(word)]


def is_first(folder: Path) -> bool:
    """Whether nobody asked before."""
    try:
        (folder / "first").touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def begin() -> Path:
    """The folder of the trial, which now knows what to kill."""
    folder = Path.cwd()
    (folder / "program").write_text(str(os.getpid()))
    return folder
