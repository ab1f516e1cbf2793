"""Finding cargo and rustc by running them, and saying exactly why they do not run."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePath

from daisy_build import advice
from daisy_build.check import Problem
from daisy_build.context import Context, Outcome
from daisy_build.evidence import evidence
from daisy_build.manifest import Version, parse_version

__all__ = ["Toolchain", "find_toolchain"]


@dataclass(frozen=True)
class Toolchain:
    """A cargo and a rustc that answer.

    Attributes:
        cargo: Path of cargo.
        cargo_version: Its own words.
        rustc: Path of rustc, or what `RUSTC` names.
        rustc_version: As numbers.
        rustc_words: The first line of `rustc -vV`.
        host: The triple that rustc builds for by default.
        rustup: The path of the rustup that chose them, if one did.
    """

    cargo: str
    cargo_version: str
    rustc: str
    rustc_version: Version
    rustc_words: str
    host: str
    rustup: str | None


def find_toolchain(context: Context) -> Toolchain | Problem:
    """Ask cargo and rustc for their versions. Cheap to call again: a context remembers."""
    cargo = context.which("cargo")
    if cargo is None:
        return _no_cargo(context)
    rustup = context.which(str(PurePath(cargo).with_name("rustup")))
    answer = context.run([cargo, "--version"])
    if not answer.ok or "cargo" not in answer.stdout:
        return _silent(context, "cargo", cargo, answer)
    rustc = context.environ.get("RUSTC") or context.which("rustc")
    if rustc is None:
        return Problem(
            "cargo was found, but not rustc, the compiler that it calls",
            looked_for=f"$RUSTC, `rustc` on PATH; cargo is {cargo}",
            fix=advice.install_rust(context.platform),
        )
    words = context.run([rustc, "-vV"])
    host = re.search(r"^host: (\S+)$", words.stdout, re.MULTILINE)
    version = parse_version(words.stdout.partition("\n")[0])
    if not words.ok or host is None or version is None:
        return _silent(context, "rustc", rustc, words)
    return Toolchain(
        cargo=cargo,
        cargo_version=answer.stdout.strip(),
        rustc=rustc,
        rustc_version=version,
        rustc_words=words.stdout.partition("\n")[0].strip(),
        host=host.group(1),
        rustup=rustup,
    )


def _no_cargo(context: Context) -> Problem:
    folder = context.environ.get("CARGO_HOME") or str(context.home / ".cargo")
    elsewhere = [str(PurePath(folder) / "bin" / "cargo")]
    named = context.environ.get("CARGO", "")
    if PurePath(named).name in {"cargo", "cargo.exe"}:
        # maturin runs the `cargo` on PATH whatever this variable says.
        elsewhere.insert(0, named)
    for candidate in elsewhere:
        found = context.which(candidate)
        if found is not None:
            where = str(PurePath(found).parent)
            return Problem(
                f"cargo, the Rust package manager, is in {where}, which is not on PATH",
                looked_for="`cargo` on PATH",
                fix=advice.on_path(context.platform, where),
            )
    return Problem(
        "cargo, the Rust package manager, was not found",
        looked_for=", ".join(["`cargo` on PATH", *elsewhere]),
        fix=advice.install_rust(context.platform),
    )


def _silent(context: Context, name: str, path: str, answer: Outcome) -> Problem:
    """A program is there, and does not answer."""
    words = answer.output
    missing = re.search(r"toolchain '([^']+)' is not installed", words)
    component = re.search(r"is not installed for the toolchain '([^']+)'", words)
    if missing is not None:
        what = f"rustup chose the toolchain {missing.group(1)}, which is not installed"
        fix = f"rustup toolchain install {missing.group(1)}"
    elif component is not None:
        what = f"rustup chose the toolchain {component.group(1)}, which has no {name}"
        fix = f"rustup component add --toolchain {component.group(1)} {name}"
    elif "rustup" in words:
        what = f"{name} is rustup's stand-in, and rustup has no Rust toolchain"
        fix = "rustup default stable"
    else:
        what = f"{name} was found, but does not run"
        fix = advice.install_rust(context.platform)
    return Problem(
        what,
        looked_for=f"{path}, which failed when asked for its version",
        evidence=evidence(words),
        fix=fix,
    )
