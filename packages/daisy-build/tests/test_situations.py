"""Every situation gives its own finding, and exactly the message that is kept beside the tests."""

from __future__ import annotations

import pytest
from daisy_build.inspection import inspect
from reference_page import PAGE, SNAPSHOTS, message, page
from situations import SITUATIONS, Situation

BY_KEY = {situation.key: situation for situation in SITUATIONS}


@pytest.mark.parametrize("situation", SITUATIONS, ids=BY_KEY.keys())
def test_message_is_the_one_kept(situation: Situation) -> None:
    inspection = inspect(situation.world().context())

    assert tuple(name for name, _ in inspection.problems) == situation.checks
    assert message(inspection) == (SNAPSHOTS / f"{situation.key}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("situation", SITUATIONS, ids=BY_KEY.keys())
def test_message_is_plain_and_short(situation: Situation) -> None:
    inspection = inspect(situation.world().context())
    text = message(inspection)

    assert text.isascii()
    assert "Traceback" not in text
    for _, problem in inspection.problems:
        assert len(problem.evidence) <= 5
        assert problem.fix
        assert problem.looked_for
        assert "\n" not in problem.fix
    assert max(map(len, text.splitlines()), default=0) <= 140 or "winget" in text


def test_each_cause_has_its_own_words() -> None:
    causes = [
        *("no-cargo", "cargo-off-path", "shim", "shim-pinned", "no-rustc", "old-stable"),
        *("no-linker", "no-libc", "stand-in", "no-target", "no-msvc", "other-link"),
        *("wrong-variable", "no-wrapper"),
    ]
    said = {key: inspect(BY_KEY[key].world().context()).problems[0][1].what for key in causes}

    assert len(set(said.values())) == len(causes)


def test_only_gcc_is_handed_to_cargo() -> None:
    inspection = inspect(BY_KEY["only-gcc"].world().context())

    assert inspection.context.exports == {
        "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER": "gcc",
        "CC_x86_64_unknown_linux_gnu": "gcc",
    }


def test_the_page_is_made_of_the_situations() -> None:
    written = PAGE.read_text(encoding="utf-8")

    assert page(written) == written, "run python packages/daisy-build/tests/reference_page.py"


def test_no_snapshot_is_left_over() -> None:
    assert {file.stem for file in SNAPSHOTS.glob("*.txt")} == set(BY_KEY)
