"""What a check is, and what it says when something is missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from daisy_build.context import Context

__all__ = ["Check", "Problem"]


@dataclass(frozen=True)
class Problem:
    """One thing that keeps the project from being built.

    Attributes:
        what: The finding, in one sentence without a full stop.
        fix: One command or one step for this platform, never a choice.
        looked_for: Where was looked, so that the user sees what was not tried.
        evidence: The tool's own words; at most five lines of them are shown.
    """

    what: str
    fix: str
    looked_for: str = ""
    evidence: tuple[str, ...] = ()


@runtime_checkable
class Check(Protocol):
    """Something that must hold before a build; offered by entry points of `daisy_build.checks`.

    Attributes:
        name: Shown in brackets with a finding, and understood by `DAISY_BUILD_SKIP`.
    """

    @property
    def name(self) -> str:
        """A word, as short as possible."""
        ...

    def applies(self, context: Context) -> bool:
        """Whether there is anything to look at for this purpose and on this platform."""
        ...

    def probe(self, context: Context) -> Problem | None:
        """Look, by running the tool wherever that is possible; None when all is well."""
        ...
