"""Writes docs/reference/compatibility.md: `python -m compat.page FILE`, in the folder of the tests."""

from __future__ import annotations

import sys
from pathlib import Path

from compat.differences import all_differences
from compat.reasons import BEHAVIOUR, reason_of
from compat.surface import MEMBERS, SIGNATURES

HEAD = """\
# Compatibility with daisy 1 and 2

Programs for daisy 2.0.0 run unchanged, and those in the spelling of 1.x do so with a `DeprecationWarning` that names
today's word ([how to move](../how-to/migrate.md)). This page is generated from the tests, which compare
{names} names with {parameters} parameters and {members} members, and fail on a difference without a reason.

## What is done differently on purpose

| | daisy 2.0.0 | Here | Why |
|---|---|---|---|
"""
MIDDLE = """
## Where names and parameters differ

| | Difference | Why |
|---|---|---|
"""


def page() -> str:
    """The text of the page."""
    text = HEAD.format(
        names=len(SIGNATURES),
        parameters=sum(map(len, SIGNATURES.values())),
        members=sum(map(len, MEMBERS.values())),
    )
    text += "".join(f"| {' | '.join(row)} |\n" for row in BEHAVIOUR) + MIDDLE
    for row, difference in all_differences().items():
        text += f"| `{row}` | {difference} | {reason_of(row) or 'NO REASON'} |\n"
    return text


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
