"""Running all checks over one context, so that everything that is missing is said at once."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from daisy_build.check import Check, Problem
from daisy_build.context import Context, Found
from daisy_build.registry import BrokenCheck, find_checks

__all__ = ["Inspection", "Result", "Status", "inspect", "skipped_names"]


class Status(enum.StrEnum):
    """How a check came out."""

    OK = "ok"
    PROBLEM = "problem"
    SKIPPED = "skipped"
    NOT_NEEDED = "not needed"
    BROKEN = "broken"


@dataclass(frozen=True)
class Result:
    """One check, and what came of it.

    Attributes:
        name: The check.
        status: How it came out.
        problem: The finding, where the status is PROBLEM.
        found: What it found on the way.
        reason: Why it is broken, where the status is BROKEN.
    """

    name: str
    status: Status
    problem: Problem | None = None
    found: tuple[Found, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class Inspection:
    """What all checks said.

    Attributes:
        context: The context, with what the checks export and note.
        results: One for each check, in order.
        unknown_skips: Names in `DAISY_BUILD_SKIP` that no check has.
    """

    context: Context
    results: tuple[Result, ...]
    unknown_skips: tuple[str, ...] = field(default=())

    @property
    def problems(self) -> tuple[tuple[str, Problem], ...]:
        """Names of checks with what they found missing."""
        return tuple((r.name, r.problem) for r in self.results if r.problem is not None)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is wrong with the checks themselves, and no reason to stop."""
        broken = [
            f"the check {r.name} is broken and was left out ({r.reason})"
            for r in self.results
            if r.status is Status.BROKEN
        ]
        unknown = [f"DAISY_BUILD_SKIP: there is no check {name}" for name in self.unknown_skips]
        return (*broken, *unknown)


def inspect(context: Context, checks: Iterable[Check | BrokenCheck] | None = None) -> Inspection:
    """Run every check that applies and is not skipped."""
    skips = skipped_names(context)
    results = [
        _result(check, context, skips)
        for check in (find_checks(context.project) if checks is None else checks)
    ]
    known = {name for result in results for name in _names(result.name)}
    return Inspection(context, tuple(results), tuple(n for n in skips if n not in known))


def skipped_names(context: Context) -> tuple[str, ...]:
    """The checks that the user does not want, from `DAISY_BUILD_SKIP`."""
    words = re.split(r"[,\s]+", context.environ.get("DAISY_BUILD_SKIP", ""))
    return tuple(word for word in words if word)


def _result(check: Check | BrokenCheck, context: Context, skips: tuple[str, ...]) -> Result:
    if not _names(check.name).isdisjoint(skips):
        return Result(check.name, Status.SKIPPED)
    if isinstance(check, BrokenCheck):
        return Result(check.name, Status.BROKEN, reason=check.reason)
    before = len(context.found)
    try:
        if not check.applies(context):
            return Result(check.name, Status.NOT_NEEDED)
        problem: object = check.probe(context)
    except Exception as error:  # noqa: BLE001 - a check at fault must not stop a build that would succeed.
        return Result(check.name, Status.BROKEN, reason=f"{type(error).__name__}: {error}")
    if problem is not None and not isinstance(problem, Problem):
        reason = f"got {problem!r}, expected a Problem or None"
        return Result(check.name, Status.BROKEN, reason=reason)
    status = Status.OK if problem is None else Status.PROBLEM
    return Result(check.name, status, problem, tuple(context.found[before:]))


def _names(name: str) -> set[str]:
    """The names by which a check is skipped: `tool:cmake` also by `tool`."""
    return {name, name.partition(":")[0]}
