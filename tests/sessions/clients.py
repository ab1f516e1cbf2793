"""Environments for libraries that use daisy: with this daisy, and with published ones."""

from __future__ import annotations

from pathlib import Path

import nox

PUBLISHED = "daisy==2.0.0"
PUBLISHED_1 = "daisy==1.2.3"
DEMANDS = """
import importlib.metadata, sys
for demand in importlib.metadata.requires(sys.argv[1]) or []:
    if not demand.lower().startswith("daisy"):
        print(demand)
"""


def client_environment(session: nox.Session, folder: Path, *requirements: str) -> Path:
    """Make an environment of its own with `requirements`, unless it is there; returns its Python."""
    python = folder / "bin/python"
    if not (folder / "complete").exists():
        session.run("python", "-m", "venv", "--clear", str(folder))
        session.run(str(python), "-m", "pip", "install", "--quiet", *requirements, external=True)
        (folder / "complete").touch()
    return python


def client_requirements(session: nox.Session, names: list[str], scratch: Path) -> list[str]:
    """Return what the clients ask for, `daisy` itself left out: daisy-py takes its place."""
    session.install("--no-deps", *(name for name in names if name.startswith("volara")))
    demands = session.run("python", "-c", DEMANDS, "volara", silent=True)
    scratch.write_text(str(demands))
    return [*names[1:], "-r", str(scratch)]
