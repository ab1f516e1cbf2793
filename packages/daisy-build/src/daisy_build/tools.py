"""The check `tool`: what a project asks for in `[[tool.daisy-build.require]]`."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from daisy_build import advice
from daisy_build.check import Problem
from daisy_build.context import Context, Found, Purpose
from daisy_build.evidence import evidence
from daisy_build.manifest import parse_version
from daisy_build.requirements import Requirement

__all__ = ["ToolCheck"]


@dataclass(frozen=True)
class ToolCheck:
    """One program or one header; a project has one check for each."""

    requirement: Requirement

    @property
    def name(self) -> str:
        """`tool:` and what is required; `DAISY_BUILD_SKIP=tool` skips all of them."""
        return f"tool:{self.requirement.name}"

    def applies(self, context: Context) -> bool:
        """Not for a source distribution; headers not on Windows, whose compiler is not on PATH."""
        if context.purpose is Purpose.SDIST:
            return False
        return not (self.requirement.header and context.platform.system == "windows")

    def probe(self, context: Context) -> Problem | None:
        """Run the tool, or compile the header."""
        if self.requirement.header:
            return self._probe_header(context)
        return self._probe_program(context)

    def _probe_program(self, context: Context) -> Problem | None:
        wanted = self.requirement
        where = context.which(wanted.name)
        if where is None:
            what = f"{wanted.name} was not found"
            return self._problem(context, what, f"`{wanted.name}` on PATH")
        answer = context.run(wanted.version_command)
        asked = " ".join(wanted.version_command)
        if not answer.ok:
            return self._problem(
                context,
                f"{wanted.name} was found, but does not run",
                f"{where}, by running `{asked}`",
                evidence(answer.output),
            )
        words = evidence(f"{answer.stdout}\n{answer.stderr}")[:1]
        version = parse_version(words[0]) if words else None
        needed = parse_version(wanted.at_least) if wanted.at_least else None
        if needed is not None and (version is None or version < needed):
            have = ".".join(map(str, version)) if version else "of an unknown version"
            return self._problem(
                context,
                f"{wanted.name} {have} is not new enough: {wanted.at_least} or newer is needed",
                f"{where}, by running `{asked}`",
                words,
            )
        context.found.append(Found(wanted.name, where, words[0] if words else ""))
        return None

    def _probe_header(self, context: Context) -> Problem | None:
        header = self.requirement.name
        named = context.environ.get("CC", "").split()
        candidates = [named, ["cc"], ["gcc"], ["clang"]]
        compiler = next((words for words in candidates if words and context.which(words[0])), None)
        if compiler is None:
            return None  # The check `linker` says that there is no compiler.
        variables = (context.environ.get(name, "") for name in ("CPPFLAGS", "CFLAGS"))
        flags = [word for value in variables for word in value.split()]
        with tempfile.TemporaryDirectory(prefix="daisy-build-", ignore_cleanup_errors=True) as name:
            source = Path(name) / "probe.c"
            source.write_text(f"#include <{header}>\n", encoding="utf-8")
            answer = context.run([*compiler, *flags, "-fsyntax-only", str(source)])
        where = f"#include <{header}>, compiled by {context.which(compiler[0])}"
        if answer.ok:
            context.found.append(Found(header, where))
            return None
        words = evidence(answer.output.replace(name, "<probe>"))
        return self._problem(context, f"the header {header} was not found", where, words)

    def _problem(
        self, context: Context, what: str, looked_for: str, words: tuple[str, ...] = ()
    ) -> Problem:
        wanted = self.requirement
        reason = f" (for {wanted.reason})" if wanted.reason else ""
        fix = wanted.fix or advice.package(
            context.platform, wanted.name, wanted.packages, is_header=wanted.header
        )
        return Problem(what + reason, looked_for=looked_for, evidence=words, fix=fix)
