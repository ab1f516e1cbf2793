"""The tool's own words: few, and those that matter."""

from __future__ import annotations

import pytest
from daisy_build.evidence import ascii_text, evidence


def test_link_line_and_frame_are_left_out() -> None:
    text = (
        "error: linking with `cc` failed: exit status: 1\n  |\n"
        '  = note:  "cc" "-m64" "/tmp/rustc/symbols.o" "<9 object files omitted>"\n'
        "  = note: some arguments are omitted. use `--verbose` to show all linker arguments\n"
        "  = note: ld: cannot find Scrt1.o: No such file or directory\n"
        "          collect2: error: ld returned 1 exit status\n\n"
        "error: could not compile `x` (build script) due to 1 previous error\n"
    )

    assert evidence(text) == (
        "error: linking with `cc` failed: exit status: 1",
        "ld: cannot find Scrt1.o: No such file or directory",
        "collect2: error: ld returned 1 exit status",
    )


def test_no_more_than_five_lines_of_bearable_width() -> None:
    lines = evidence("\n".join(f"line {n} {'x' * 300}" for n in range(9)))

    assert len(lines) == 5
    assert max(map(len, lines)) <= 110


def test_repeated_lines_are_said_once() -> None:
    assert evidence("a\nb\na\n") == ("a", "b")


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\u2018cc\u2019 \u201cx\u201d", '`cc\' "x"'),
        ("\u2717 f\u00fcr", "? f?r"),
        ("a\tb\x00", "a b"),
    ],
)
def test_only_ascii(text: str, plain: str) -> None:
    assert ascii_text(text) == plain
