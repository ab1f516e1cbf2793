"""Every name, parameter and default of daisy 2.0.0 is here, or its absence has a written reason."""

from __future__ import annotations

from pathlib import Path

import pytest
from compat.differences import all_differences
from compat.page import page
from compat.reasons import REASONS, reason_of

PAGE = Path(__file__).parents[4] / "docs/reference/compatibility.md"


def test_every_difference_has_a_reason() -> None:
    assert [row for row in all_differences() if reason_of(row) is None] == []


def test_every_reason_has_a_difference() -> None:
    rows = list(all_differences())
    assert [start for start in REASONS if not any(row.startswith(start) for row in rows)] == []


@pytest.mark.skipif(not PAGE.parent.exists(), reason="tests run away from the repository")
def test_the_page_says_the_same() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), (
        "run `python -m compat.page ../../../docs/reference/compatibility.md` in packages/daisy-py/tests"
    )
