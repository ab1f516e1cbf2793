"""The tool's own words, cut down to those that say what went wrong."""

from __future__ import annotations

import re

__all__ = ["MOST_LINES", "ascii_text", "evidence"]

MOST_LINES = 5
_WIDEST = 110

# What rustc and cargo add to every failure, and the link line with its thousands of characters.
_NOISE = re.compile(
    r"""
    \|?\s*$
    | (=\ )?(note|help):\s+(env\ -u\ .*|("[^"]*"\s*){2,}.*|LC_ALL=.*)$
    | (=\ )?note:\ some\ arguments\ are\ omitted
    | (error|warning):\ (could\ not\ compile|build\ failed|aborting\ due)
    | (For|Some)\ (more|errors)\b.*
    | (Caused\ by|Compiling|Finished)\b.*
    | -->\ .*
    """,
    re.VERBOSE,
)
_LABEL = re.compile(r"^(= )?(note|help):\s+(?=\S)|^= ")
_QUOTES = str.maketrans({"\u2018": "`", "\u2019": "'", "\u201c": '"', "\u201d": '"'})


def evidence(text: str) -> tuple[str, ...]:
    """At most five lines that carry the meaning of what a tool said, in its order."""
    lines: list[str] = []
    for raw in text.splitlines():
        line = ascii_text(raw.strip())
        if _NOISE.match(line):
            continue
        line = re.sub(r"\s{2,}", " ", _LABEL.sub("", line))
        line = line if len(line) <= _WIDEST else f"{line[: _WIDEST - 3]}..."
        if line not in lines:
            lines.append(line)
    return tuple(lines[:MOST_LINES])


def ascii_text(text: str) -> str:
    """The text without colour and without what a C locale cannot print."""
    plain = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text).translate(_QUOTES).replace("\t", " ")
    return "".join(c if c.isprintable() else "" for c in plain).encode("ascii", "replace").decode()
