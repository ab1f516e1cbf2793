"""Which checks a project has: the built-in ones, its own requirements, and plug-ins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points

from daisy_build.check import Check, Problem
from daisy_build.context import Context
from daisy_build.linker import LinkerCheck
from daisy_build.project import Project, normalize_name
from daisy_build.requirements import SettingsError, read_requirements, read_wanted_checks
from daisy_build.rust import RustCheck
from daisy_build.tools import ToolCheck

__all__ = ["BUILT_IN", "GROUP", "BrokenCheck", "FailingCheck", "find_checks"]

GROUP = "daisy_build.checks"

# In code, not as entry points: a source tree on `backend-path` has no dist-info to read them from.
BUILT_IN: tuple[Check, ...] = (RustCheck(), LinkerCheck())


@dataclass(frozen=True)
class BrokenCheck:
    """A plug-in that could not be loaded; said to the user, and no reason not to build."""

    name: str
    reason: str


@dataclass(frozen=True)
class FailingCheck:
    """A finding that needs no look at the machine, in the shape of a check."""

    name: str
    problem: Problem

    def applies(self, context: Context) -> bool:
        """Always."""
        return True

    def probe(self, context: Context) -> Problem | None:
        """The finding."""
        return self.problem


def find_checks(
    project: Project, installed: Iterable[EntryPoint] | None = None
) -> Iterator[Check | BrokenCheck]:
    """All checks of a project, built-in ones first.

    A plug-in is loaded if `build-system.requires` lists its distribution, or `checks` in
    `[tool.daisy-build]` its name: whatever else is installed has nothing to say.

    Args:
        project: The project.
        installed: Entry points to choose from, by default those of this environment.
    """
    yield from BUILT_IN
    try:
        requirements = read_requirements(project.settings)
        wanted = read_wanted_checks(project.settings)
    except SettingsError as error:
        fix = "correct pyproject.toml; the keys are in the documentation of daisy-build"
        problem = Problem(str(error), looked_for="[tool.daisy-build] in pyproject.toml", fix=fix)
        yield FailingCheck("settings", problem)
        return
    yield from (ToolCheck(requirement) for requirement in requirements)

    absent = set(wanted)
    for entry in entry_points(group=GROUP) if installed is None else installed:
        distribution = normalize_name(entry.dist.name) if entry.dist else ""
        if entry.name in wanted or distribution in project.build_requires:
            absent.discard(entry.name)
            yield _load(entry)
    for name in sorted(absent):
        problem = Problem(
            f"the check {name} is asked for, but nothing that is installed offers it",
            looked_for=f"entry point {name} in group {GROUP}",
            fix=f"add the distribution that has the check {name} to build-system.requires",
        )
        yield FailingCheck(name, problem)


def _load(entry: EntryPoint) -> Check | BrokenCheck:
    try:
        loaded = entry.load()
        check = loaded() if isinstance(loaded, type) else loaded
    except Exception as error:  # noqa: BLE001 - another's code: it may fail in any way, and stops nobody else.
        return BrokenCheck(entry.name, f"{type(error).__name__}: {error}")
    if not isinstance(check, Check):
        return BrokenCheck(entry.name, f"got {entry.value}, expected a check: name, applies, probe")
    return check
