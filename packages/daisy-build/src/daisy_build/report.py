"""The message that the user reads: plain ASCII, to be at home in pip's and uv's frames."""

from __future__ import annotations

import textwrap

from daisy_build.check import Problem
from daisy_build.context import Purpose
from daisy_build.evidence import MOST_LINES, ascii_text
from daisy_build.inspection import Inspection

__all__ = ["render_notes", "render_problems"]

_WIDTH = 88


def render_problems(inspection: Inspection) -> str:
    """Everything that is missing, how to get it, and the two ways around it."""
    name = inspection.context.project.name
    problems = inspection.problems
    count = "1 thing is" if len(problems) == 1 else f"{len(problems)} things are"
    what = "packed as a source distribution" if _is_sdist(inspection) else "built from source"
    lines = [f"daisy-build: error: {name} cannot be {what} here yet: {count} missing.", ""]
    for number, (check, problem) in enumerate(problems, start=1):
        lines += [*_problem(number, check, problem), ""]
    for warning in inspection.warnings:
        lines += _wrap(f"Note: {warning}.", "  ")
    if inspection.warnings:
        lines.append("")
    lines.append("  Then run the same command again.")
    if not _is_sdist(inspection):
        wheel = f"pip install --only-binary {name} {name}"
        lines.append(f"  A prebuilt wheel, if there is one, needs none of this: {wheel}")
    names = ",".join(dict.fromkeys(check for check, _ in problems))
    lines.append(f"  To build without a check, name it as in brackets: DAISY_BUILD_SKIP={names}")
    return ascii_text_lines(lines)


def render_notes(inspection: Inspection) -> str:
    """What is worth reading although the build goes on; may be empty."""
    texts = (*inspection.warnings, *inspection.context.notes)
    return ascii_text_lines([f"daisy-build: note: {text}" for text in texts])


def ascii_text_lines(lines: list[str]) -> str:
    """Lines as they are printed, each with an end, whatever locale and terminal there are."""
    return "".join(f"{ascii_text(line).rstrip()}\n" for line in lines)


def _problem(number: int, check: str, problem: Problem) -> list[str]:
    lines = _wrap(f"{problem.what}  [{check}]", f"  {number}. ", "     ")
    if problem.looked_for:
        lines += _wrap(f"Looked for: {problem.looked_for}", "     ", "       ")
    lines += [f"       | {line}" for line in problem.evidence[:MOST_LINES]]
    # Never folded: it is there to be copied.
    return [*lines, f"     Fix: {problem.fix}"]


def _wrap(text: str, first: str, rest: str | None = None) -> list[str]:
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=first,
        subsequent_indent=first if rest is None else rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _is_sdist(inspection: Inspection) -> bool:
    return inspection.context.purpose is Purpose.SDIST
