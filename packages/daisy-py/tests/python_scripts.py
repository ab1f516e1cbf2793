"""Scripts run by a fresh interpreter, as users run them."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

PRELUDE = """
import daisy

def task(process, name="t", count=6, **options):
    return daisy.Task(
        name,
        daisy.Roi((0,), (count * 10,)),
        daisy.Roi((0,), (10,)),
        daisy.Roi((0,), (10,)),
        process,
        read_write_conflict=False,
        **options,
    )
"""


def write_script(folder: Path, text: str, name: str = "script.py") -> Path:
    """A script of this text, with ``task(...)`` at hand."""
    path = folder / name
    path.write_text(PRELUDE + textwrap.dedent(text), encoding="utf-8")
    return path


def start(arguments: list[str], folder: Path, **environment: str) -> subprocess.Popen[str]:
    """An interpreter with these arguments in this folder."""
    return subprocess.Popen(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONWARNINGS": "error", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        errors="replace",
    )


def run_script(
    folder: Path, text: str, *, name: str = "script.py", timeout: float = 90, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a script to its end; fails with its output if it does not exit with 0."""
    script = write_script(folder, text, name)
    return finish(start([str(script)], folder, **environment), timeout)


def finish(process: subprocess.Popen[str], timeout: float = 90) -> subprocess.CompletedProcess[str]:
    """Wait for a process; fails with its output if it does not exit with 0."""
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        raise AssertionError(f"the script hangs\n{out}\n{err}") from None
    assert process.returncode == 0, f"exit code {process.returncode}\n{out}\n{err}"
    return subprocess.CompletedProcess(process.args, 0, out, err)
