"""What sessions of nox decide by themselves."""

from __future__ import annotations

from pathlib import Path

import pytest
from packaging.tags import Tag
from sessions.wheels import fitting

# As `wheelhouse/` is after cibuildwheel ran on Linux.
WHEELHOUSE = [
    Path(f"wheelhouse/daisy_py-3.0.0-{name}.whl")
    for name in (
        "cp311-abi3-manylinux_2_17_x86_64.manylinux2014_x86_64",
        "cp311-abi3-musllinux_1_2_x86_64",
        "cp314-cp314t-manylinux_2_17_x86_64.manylinux2014_x86_64",
        "cp314-cp314t-musllinux_1_2_x86_64",
    )
]
DEBIAN = [
    Tag("cp312", "cp312", "manylinux_2_17_x86_64"),
    Tag("cp311", "abi3", "manylinux_2_17_x86_64"),
]
FREE_THREADED = [Tag("cp314", "cp314t", "manylinux2014_x86_64")]
ALPINE = [Tag("cp311", "abi3", "musllinux_1_2_x86_64")]


@pytest.mark.parametrize(
    ("tags", "place"), [(DEBIAN, 0), (ALPINE, 1), (FREE_THREADED, 2)], ids=["glibc", "musl", "free"]
)
def test_the_wheel_for_this_python_is_found_among_others(tags: list[Tag], place: int) -> None:
    assert fitting(WHEELHOUSE, tags) == [WHEELHOUSE[place]]


def test_there_may_be_none() -> None:
    assert fitting(WHEELHOUSE, [Tag("cp311", "abi3", "macosx_11_0_arm64")]) == []
