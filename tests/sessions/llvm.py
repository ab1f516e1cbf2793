"""What line coverage of Rust needs beside cargo."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import nox

from sessions.environments import cargo

NEEDED = (
    "line coverage of Rust needs llvm-cov and llvm-profdata for the LLVM that `rustc -vV` names: "
    "`rustup component add llvm-tools`, or, where Rust is of the system, its package of that LLVM "
    "and LLVM_COV and LLVM_PROFDATA set to their paths"
)


def install_cargo_llvm_cov(session: nox.Session) -> None:
    """Build cargo-llvm-cov unless it is there; that takes some minutes."""
    if shutil.which("cargo-llvm-cov") is None:
        cargo(session, "install", "--quiet", "--locked", "cargo-llvm-cov")


def llvm_tools(session: nox.Session) -> dict[str, str]:
    """Return the variables that tell cargo-llvm-cov where the tools of LLVM are."""
    sysroot = session.run("rustc", "--print", "sysroot", external=True, silent=True)
    if next(Path(str(sysroot).strip()).glob("lib/rustlib/*/bin/llvm-cov*"), None):
        return {}
    if shutil.which("rustup"):
        session.run("rustup", "component", "add", "llvm-tools", external=True)
        return {}
    names = ("LLVM_COV", "LLVM_PROFDATA")
    if not all(name in os.environ for name in names):
        session.error(NEEDED)
    return {name: os.environ[name] for name in names}
