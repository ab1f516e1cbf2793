"""Tools and headers of `[[tool.daisy-build.require]]`, and the platform's advice for them."""

from __future__ import annotations

import pytest
from daisy_build.context import Outcome
from daisy_build.inspection import Status, inspect
from daisy_build.platforms import Platform
from fake_world import ALPINE, CONDA, DEBIAN, FEDORA, HOMEBREW, MACOS, UNKNOWN, WINDOWS, World


def _world(platform: Platform = DEBIAN, **entry: object) -> World:
    world = World.with_rust(platform)
    world.requirements = {"require": [{key.replace("_", "-"): v for key, v in entry.items()}]}
    return world


@pytest.mark.parametrize(
    ("words", "passes"),
    [("cmake version 3.20.0", True), ("cmake version 3.9.1", False), ("cmake", False)],
)
def test_version_is_compared_as_numbers(words: str, passes: bool) -> None:
    world = _world(tool="cmake", at_least="3.20")
    world.programs["cmake"] = "/usr/bin/cmake"
    world.answers["cmake --version"] = Outcome(0, f"{words}\n")

    assert (not inspect(world.context()).problems) == passes


def test_tool_without_a_version_only_has_to_run() -> None:
    world = _world(tool="perl", version_command=["perl", "-v"])
    world.programs["perl"] = "/usr/bin/perl"
    world.answers["perl -v"] = Outcome(0)

    assert not inspect(world.context()).problems


def test_tool_that_does_not_run() -> None:
    world = _world(tool="cmake")
    world.programs["cmake"] = "/usr/bin/cmake"
    world.answers["cmake --version"] = Outcome(127, stderr="cmake: error while loading libraries")

    ((name, problem),) = inspect(world.context()).problems

    assert name == "tool:cmake"
    assert problem.what == "cmake was found, but does not run"
    assert problem.evidence == ("cmake: error while loading libraries",)


@pytest.mark.parametrize("skip", ["tool", "tool:cmake"])
def test_skipped(skip: str) -> None:
    world = _world(tool="cmake")
    world.environ["DAISY_BUILD_SKIP"] = skip

    assert inspect(world.context()).results[-1].status is Status.SKIPPED


@pytest.mark.parametrize(
    ("platform", "tool", "fix"),
    [
        (DEBIAN, "ninja", "sudo apt-get install ninja-build"),
        (FEDORA, "protoc", "sudo dnf install protobuf-compiler"),
        (ALPINE, "pkg-config", "apk add pkgconf"),
        (CONDA, "protoc", "conda install -c conda-forge libprotobuf"),
        (HOMEBREW, "cmake", "brew install cmake"),
        (MACOS, "cmake", "install cmake and put it on PATH"),
        (WINDOWS, "nasm", "winget install NASM.NASM"),
        (UNKNOWN, "flex", "install flex and put it on PATH"),
    ],
)
def test_fix(platform: Platform, tool: str, fix: str) -> None:
    ((_, problem),) = inspect(_world(platform, tool=tool).context()).problems

    assert problem.fix == fix


def test_package_and_fix_of_the_project_come_first() -> None:
    packages = {"debian": "libhdf5-dev", "any": "hdf5"}
    named = _world(header="hdf5.h", packages=packages)
    elsewhere = _world(FEDORA, header="hdf5.h", packages=packages)
    told = _world(header="hdf5.h", packages=packages, fix="module load hdf5")

    fixes = [inspect(w.context()).problems[0][1].fix for w in (named, elsewhere, told)]

    assert fixes == [
        "sudo apt-get install libhdf5-dev",
        "sudo dnf install hdf5",
        "module load hdf5",
    ]


def test_unknown_header_is_described() -> None:
    ((_, problem),) = inspect(_world(header="odd.h").context()).problems

    assert problem.fix == "install the development package that has odd.h"


def test_header_that_compiles() -> None:
    world = _world(header="zlib.h")
    world.environ |= {"CC": "ccache gcc", "CPPFLAGS": "-I/opt/include"}
    world.programs |= {"ccache": "/usr/bin/ccache"}
    world.answers["ccache gcc -I/opt/include -fsyntax-only"] = Outcome(0)

    assert not inspect(world.context()).problems


def test_headers_are_not_judged_on_windows() -> None:
    results = inspect(_world(WINDOWS, header="zlib.h").context()).results

    assert results[-1].status is Status.NOT_NEEDED
