"""What a session installs, and how it runs cargo."""

from __future__ import annotations

import os
import shutil
import sysconfig
from pathlib import Path

import nox

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "packages/daisy-py/python/daisy"
BACKEND = ROOT / "packages/daisy-build"
PROJECT = nox.project.load_toml(ROOT / "pyproject.toml")
BACKEND_PROJECT = nox.project.load_toml(BACKEND / "pyproject.toml")


def fitting_extras() -> list[str]:
    """Return the extras that the tests can have: free-threaded Python lacks wheels of some."""
    return [] if sysconfig.get_config_var("Py_GIL_DISABLED") else ["demo"]


def fitting_groups() -> list[str]:
    """Return the groups of the tests of daisy that have wheels for this Python."""
    return ["test", "stores", "notebook"] if fitting_extras() else ["test"]


def group(*names: str) -> list[str]:
    """Return what dependency groups of daisy-py ask for; pip before 25.1 knows no `--group`."""
    return list(nox.project.dependency_groups(PROJECT, *names))


def backend_group(*names: str) -> list[str]:
    """Return what dependency groups of daisy-build ask for."""
    return list(nox.project.dependency_groups(BACKEND_PROJECT, *names))


def install_editable(session: nox.Session, *extras: str, requirements: list[str]) -> None:
    """Build the extension in place, as `pip install -e .` does, and install `requirements`."""
    for stale in PACKAGE.glob("_core.*.so"):
        if ".abi3." not in stale.name:
            stale.unlink()  # it would be imported in place of the one built now
    target = f".[{','.join(extras)}]" if extras else "."
    session.install("-e", target, *requirements)


def cargo(session: nox.Session, *arguments: str, **env: str) -> None:
    """Run cargo on the workspace."""
    if shutil.which("cargo") is None:
        session.error("cargo is not on PATH: install Rust from https://rustup.rs, then repeat")
    session.run("cargo", *arguments, external=True, env=env)


def existing(*paths: str) -> list[str]:
    """Return those of `paths` that are in this checkout."""
    return [path for path in paths if (ROOT / path).exists()]


def run_as_root() -> list[str] | None:
    """Return what makes a command run as root with the PATH of here, if something does."""
    keep = ["env", f"PATH={os.environ['PATH']}"]
    if getattr(os, "geteuid", lambda: -1)() == 0:
        return keep
    return ["sudo", *keep] if shutil.which("sudo") else None
