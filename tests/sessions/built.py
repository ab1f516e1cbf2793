"""What is handed to users: built, found, and tested as an installed file."""

from __future__ import annotations

import shutil
from pathlib import Path

import nox

from sessions.environments import ROOT
from sessions.wheels import fitting


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
    """Return the file named on the command line, if one was; a folder stands for what fits in it."""
    if not session.posargs:
        return None
    named = Path(session.posargs[0]).resolve()
    found = sorted(named.glob(f"daisy_py-*{suffix}")) if named.is_dir() else [named]
    # cibuildwheel leaves wheels for several kinds of Linux and of Python in its folder.
    fits = fitting(found)[:1] if suffix == ".whl" and named.is_dir() else found
    if len(fits) != 1 or not fits[0].exists():
        names = ", ".join(path.name for path in found) or "none"
        session.error(f"expected a daisy_py-*{suffix} for this Python at {named}, got {names}")
    return fits[0]
