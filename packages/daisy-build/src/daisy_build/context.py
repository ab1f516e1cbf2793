"""All that a check may know of the world, handed to it as data and as two functions."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from daisy_build.platforms import Platform
from daisy_build.project import Project

__all__ = ["Context", "Found", "Outcome", "Purpose", "Runner"]

Runner = Callable[[Sequence[str], Mapping[str, str]], "Outcome"]


class Purpose(enum.StrEnum):
    """What the frontend asked for."""

    WHEEL = "wheel"
    EDITABLE = "editable"
    SDIST = "sdist"


@dataclass(frozen=True)
class Outcome:
    """How a command ended, and what it said.

    A command that could not be started or did not end in time has a code of 126 or 124, and the
    reason in `stderr`.
    """

    code: int
    stdout: str = ""
    stderr: str = ""

    @property
    def ok(self) -> bool:
        """Whether the command succeeded."""
        return self.code == 0

    @property
    def output(self) -> str:
        """Both streams, the errors first."""
        return f"{self.stderr}\n{self.stdout}".strip()


@dataclass(frozen=True)
class Found:
    """A tool that a check found; shown by the doctor."""

    what: str
    where: str
    version: str = ""


@dataclass
class Context:
    """The project, the machine, and the ways to ask it something.

    Attributes:
        purpose: What is to be built.
        project: What pyproject.toml and Cargo.toml say.
        platform: The operating system.
        environ: The environment of the build.
        which: Path of a program, by name or by path; None when there is none.
        runner: Runs a command with added variables; use `run`, which asks only once.
        home: The user's home folder.
        exports: Variables that the build is to see, added by checks that pass.
        notes: Sentences that the user should read although the build goes on.
        found: What was found, where, which version.
    """

    purpose: Purpose
    project: Project
    platform: Platform
    environ: Mapping[str, str]
    which: Callable[[str], str | None]
    runner: Runner
    home: Path
    exports: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    found: list[Found] = field(default_factory=list)
    _asked: dict[tuple[object, ...], Outcome] = field(default_factory=dict, repr=False)

    def run(self, command: Sequence[str], variables: Mapping[str, str] | None = None) -> Outcome:
        """Run a command in the project's folder, or repeat what it said when last asked."""
        added = {**self.exports, **(variables or {})}
        key = (*command, *sorted(added.items()))
        if key not in self._asked:
            self._asked[key] = self.runner(command, added)
        return self._asked[key]

    @property
    def may_install_rust(self) -> bool:
        """Whether the user lets maturin download Rust where there is no cargo."""
        allowed = self.environ.get("DAISY_BUILD_INSTALL_RUST") == "1"
        return allowed and not self.environ.get("MATURIN_NO_INSTALL_RUST")
