"""Functions that use packages installed with ``pip install --editable``: by a path, or by a finder of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import textwrap
from pathlib import Path

import daisy
import pytest
from python_scripts import PRELUDE

PACKAGE = """
import struct, threading

STATE = threading.local()
HEADER = struct.Struct("<I")
LOCK = threading.RLock()

class Filter:
    def __init__(self, radius):
        self.radius = radius

    def apply(self, block):
        assert type(self) is Filter and self.radius == 3
        with LOCK:
            STATE.size = HEADER.size
"""
# What build backends write for packages whose layout is not that of their sources.
FINDER = """
import importlib.util, sys

class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "work_in_progress":
            return importlib.util.spec_from_file_location(name, {source!r})

sys.meta_path.append(Finder)
"""
SCRIPT = """
import functools
import work_in_progress

def apply(filter, block, strict=True):
    assert type(filter) is work_in_progress.Filter
    filter.apply(block)
    block.status = daisy.BlockStatus.SUCCESS

if __name__ == "__main__":
    filter = work_in_progress.Filter(3)
    for function in (functools.partial(apply, filter), filter.apply, lambda block: apply(filter, block)):
        daisy.run_blockwise(task(function, max_workers=2), progress=False).raise_for_failures()
    print("well done", work_in_progress.__file__)
"""


def environment(folder: Path, way: str) -> Path:
    """The Python of an environment with daisy, and a package whose sources lie elsewhere."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    variables = {"base": str(folder), "platbase": str(folder)}
    site = Path(sysconfig.get_path("purelib", "venv", variables))
    source = folder / "checkout" / "src" / "work_in_progress.py"
    source.parent.mkdir(parents=True)
    source.write_text(PACKAGE)
    # What is installed where the tests run, daisy included.
    known = {str(Path(daisy.__file__).parents[1]), sysconfig.get_path("purelib")}
    lines = [*sorted(known)]
    if way == "finder":
        (site / "__editable___finder.py").write_text(FINDER.format(source=str(source)))
        lines.append("import __editable___finder")
    else:
        lines.append(str(source.parent))
    (site / "installed.pth").write_text("\n".join(lines) + "\n")
    return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


@pytest.mark.parametrize("start", ["fork", "spawn"])
@pytest.mark.parametrize("way", ["path", "finder"])
def test_what_is_installed_editable_reaches_workers_as_itself(
    tmp_path: Path, way: str, start: str
) -> None:
    """By reference, whatever is at the top of its modules: a class is the same class in the worker."""
    python = environment(tmp_path / "environment", way)
    script = tmp_path / "script.py"
    script.write_text(PRELUDE + textwrap.dedent(SCRIPT))
    done = subprocess.run(
        [str(python), str(script)],
        cwd=tmp_path,
        env={**os.environ, "DAISY_WORKER_START": start, "PYTHONWARNINGS": "error"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "well done" in done.stdout
    assert str(tmp_path / "environment" / "checkout") in done.stdout
