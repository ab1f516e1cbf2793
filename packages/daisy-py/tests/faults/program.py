"""Small programs as users write them, each run by an interpreter of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

PRELUDE = '''
import json, os, sys, threading, time
from pathlib import Path
import daisy

def boxes(*shape):
    """A box from the origin."""
    return daisy.Roi((0,) * len(shape), shape)

def line(name, blocks, function, before=0, after=0, **options):
    """A task over so many blocks of 10 voxels in a row, with so much context below and above."""
    total = daisy.Roi((-before,), (10 * blocks + before + after,))
    read = daisy.Roi((-before,), (10 + before + after,))
    options = {"read_write_conflict": False, **options}
    return daisy.Task(name, total, read, daisy.Roi((0,), (10,)), function, **options)

def counts(states):
    """What the states say, for printing."""
    names = ["total_block", "pending", "ready", "processing", "completed", "failed", "orphaned"]
    return {task: [getattr(state, f"{n}_count") for n in names] for task, state in states.items()}

def note(folder, name):
    """Leave a file behind that says this happened."""
    Path(folder, name).touch()
'''


@dataclass(frozen=True)
class Finished:
    """A program that ended: what it printed, and how."""

    returncode: int
    stdout: str
    stderr: str

    @property
    def last_line(self) -> str:
        """The last line that it printed."""
        lines = self.stdout.strip().splitlines()
        return lines[-1] if lines else ""


def write(folder: Path, text: str, name: str = "program.py") -> Path:
    """Write a program to a file."""
    path = folder / name
    path.write_text(PRELUDE + textwrap.dedent(text), encoding="utf-8")
    return path


def start(folder: Path, text: str, *, cwd: Path | None = None, **env: str) -> subprocess.Popen[str]:
    """Start a program, in a session of its own."""
    return subprocess.Popen(
        [sys.executable, str(write(folder, text))],
        cwd=cwd or folder,
        env={**os.environ, **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    )


def run(
    folder: Path, text: str, *, cwd: Path | None = None, timeout: float = 120, **env: str
) -> Finished:
    """Run a program to its end; one that hangs fails the test after ``timeout`` seconds."""
    process = start(folder, text, cwd=cwd, **env)
    try:
        stdout, stderr = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        stdout, stderr = process.communicate()
        raise AssertionError(f"hangs; printed:\n{stdout}\n{stderr}") from None
    return Finished(process.returncode, stdout, stderr)


def run_well(
    folder: Path, text: str, *, cwd: Path | None = None, timeout: float = 120, **env: str
) -> str:
    """Run a program that is expected to end well; returns the last line that it printed."""
    done = run(folder, text, cwd=cwd, timeout=timeout, **env)
    assert done.returncode == 0, f"ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
    return done.last_line
