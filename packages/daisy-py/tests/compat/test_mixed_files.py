"""Files of the published `daisy` inside daisy-py give one clear error."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import daisy
import pytest

PLANTED = [
    "_daisy.cpython-311-x86_64-linux-gnu.so",
    "_daisy.pyi",
    "_subprocess_worker.py",
    "_runner.py",
    "processing_queue.py",
    "tcp/__init__.py",
]


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder like site-packages with daisy-py in it."""
    package = tmp_path / "site/daisy"
    package.mkdir(parents=True)
    for entry in Path(daisy.__path__[0]).iterdir():
        if entry.name != "__pycache__":
            (package / entry.name).symlink_to(entry)
    return package.parent


def python(site: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run an interpreter that finds daisy there."""
    environment = {**os.environ, "PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, *arguments], env=environment, cwd=site, capture_output=True, text=True
    )


def check_refused(done: subprocess.CompletedProcess[str], planted: str) -> None:
    """One error, which names both distributions, what was found, and the way out."""
    assert done.returncode != 0
    error = done.stderr.strip().splitlines()[-1]
    assert error.startswith("ImportError: ")
    assert "'daisy-py'" in error
    assert "'daisy'" in error
    assert planted in error
    assert "pip uninstall --yes daisy daisy-py && python -m pip install daisy-py" in error


def test_alone_it_is_imported(site: Path) -> None:
    done = python(site, "-c", "import daisy; print(daisy.__file__)")
    assert done.stdout.strip() == str(site / "daisy/__init__.py"), done.stderr


@pytest.mark.parametrize("name", PLANTED)
@pytest.mark.parametrize("code", ["import daisy", "from daisy import Task", "import daisy.logging"])
def test_a_foreign_file(site: Path, name: str, code: str) -> None:
    planted = site / "daisy" / name
    planted.parent.mkdir(exist_ok=True)
    planted.touch()
    check_refused(python(site, "-c", code), name.split("/")[0])


def test_metadata_of_the_other(site: Path) -> None:
    metadata = site / "daisy-2.0.0.dist-info"
    metadata.mkdir()
    (metadata / "RECORD").write_text("daisy/__init__.py,sha256=0,10\ndaisy/_task.py,sha256=0,10\n")
    check_refused(python(site, "-c", "import daisy"), metadata.name)


def test_metadata_without_a_package_does_no_harm(site: Path) -> None:
    metadata = site / "daisy-2.0.0.dist-info"
    metadata.mkdir()
    (metadata / "RECORD").write_text("daisy-2.0.0.dist-info/METADATA,sha256=0,10\n")
    assert python(site, "-c", "import daisy").returncode == 0


def test_the_other_over_this_one(site: Path) -> None:
    package = site / "daisy"
    (package / "__init__.py").unlink()
    (package / "__init__.py").write_text("__version__ = '2.0.0'\n")
    (package / "_daisy.pyi").touch()
    check_refused(python(site, "-m", "daisy", "--version"), "_daisy.pyi")
