"""What is handed to users: built, found, and tested as an installed file."""

from __future__ import annotations

import shutil
from pathlib import Path

import nox

from sessions.environments import ROOT


def build_into(session: nox.Session, folder: Path, *kinds: str) -> list[Path]:
    """Build the named `kinds` (`--sdist`, `--wheel`) of daisy-py into an emptied `folder`."""
    shutil.rmtree(folder, ignore_errors=True)
    session.run("python", "-m", "build", *kinds, "--outdir", str(folder), str(ROOT))
    return sorted(folder.iterdir())


def test_installed(session: nox.Session) -> None:
    """Run the Python tests of daisy against what is installed, away from the source tree."""
    empty = Path(session.create_tmp()).resolve() / "empty"
    shutil.rmtree(empty, ignore_errors=True)
    empty.mkdir()
    session.chdir(empty)
    look = "import daisy, sys; sys.exit('site-packages' not in daisy.__file__ and daisy.__file__)"
    session.run("python", "-c", look)
    settings = f"--config-file={ROOT / 'pyproject.toml'}"
    session.run("pytest", settings, str(ROOT / "packages/daisy-py/tests"))


def given_file(session: nox.Session, suffix: str) -> Path | None:
    """Return the file named on the command line, if one was; a folder stands for its one file."""
    if not session.posargs:
        return None
    named = Path(session.posargs[0]).resolve()
    found = sorted(named.glob(f"daisy_py-*{suffix}")) if named.is_dir() else [named]
    if len(found) != 1 or not found[0].exists():
        session.error(f"expected one daisy_py-*{suffix} at {named}, got {len(found)}")
    return found[0]
