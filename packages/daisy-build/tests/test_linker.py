"""How the link is tried: with what, for what, and what is never called."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from daisy_build.arguments import MaturinArguments
from daisy_build.context import Context, Outcome
from daisy_build.inspection import Status, inspect
from daisy_build.linker import LinkerCheck
from fake_world import MACOS, WINDOWS, World
from situations import SITUATIONS

VARIABLE = "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER"


def _links(world: World) -> list[tuple[str, ...]]:
    return [command for command in world.commands if command[1:2] == ("rustc",)]


def _with(world: World, arguments: MaturinArguments) -> Context:
    context = world.context()
    return replace(context, project=replace(context.project, arguments=arguments))


def test_one_link_is_enough_for_a_machine_that_has_everything() -> None:
    world = World.with_rust()

    assert LinkerCheck().probe(world.context()) is None

    (command,) = _links(world)
    assert "--offline" in command
    assert "--target" not in command
    assert "--" not in command


def test_each_target_is_linked() -> None:
    world = World.with_rust(MACOS)
    targets = ("x86_64-apple-darwin", "aarch64-apple-darwin")

    assert LinkerCheck().probe(_with(world, MaturinArguments(targets))) is None

    assert [command[command.index("--target") + 1] for command in _links(world)] == [*targets]


def test_cargo_configuration_is_passed_on() -> None:
    world = World.with_rust()

    LinkerCheck().probe(_with(world, MaturinArguments(cargo_config=("target.x.linker='y'",))))

    assert "--config=target.x.linker='y'" in _links(world)[0]


def test_musl_is_linked_as_maturin_does() -> None:
    world = World.with_rust()
    target = MaturinArguments(("x86_64-unknown-linux-musl",))

    LinkerCheck().probe(_with(world, target))

    assert _links(world)[0][-3:] == ("--", "-C", "target-feature=-crt-static")


def test_zig_brings_its_own_linker() -> None:
    context = _with(World.with_rust(), MaturinArguments(zig=True))

    assert not LinkerCheck().applies(context)


def test_variable_of_the_user_is_not_overridden() -> None:
    world = next(s for s in SITUATIONS if s.key == "wrong-variable").world()
    world.programs["gcc"] = "/usr/bin/gcc"
    world.links["gcc"] = Outcome(0)
    context = world.context()

    problem = LinkerCheck().probe(context)

    assert problem is not None
    assert problem.fix == f"unset {VARIABLE}"
    assert context.exports == {}


@pytest.mark.parametrize(
    ("cc", "linker"),
    [
        ("x86_64-conda-linux-gnu-cc", "x86_64-conda-linux-gnu-cc"),
        ("gcc -m64", "gcc"),
        ("missing-cc", "gcc"),
    ],
)
def test_compiler_of_the_environment_comes_first(cc: str, linker: str) -> None:
    world = World.with_rust()
    del world.programs["cc"]
    world.programs |= {name: f"/opt/{name}" for name in ("x86_64-conda-linux-gnu-cc", "gcc")}
    world.links = {"x86_64-conda-linux-gnu-cc": Outcome(0), "gcc": Outcome(0)}
    world.environ["CC"] = cc
    context = world.context()

    assert LinkerCheck().probe(context) is None
    assert context.exports == {VARIABLE: linker}


def test_second_compiler_is_tried_when_the_first_does_not_link() -> None:
    world = next(s for s in SITUATIONS if s.key == "no-libc").world()
    failed = world.links["cc"]
    world.programs |= {"gcc": "/usr/bin/gcc", "clang": "/usr/bin/clang"}
    words = failed.stderr.replace("`cc`", "`gcc`")
    world.links |= {"gcc": Outcome(101, stderr=words), "clang": Outcome(0)}
    context = world.context()

    assert LinkerCheck().probe(context) is None
    assert context.exports == {VARIABLE: "clang"}


def test_failing_target_is_not_blamed_on_the_linker_of_the_host() -> None:
    """Only gcc is there, it links for the host, and the target has no standard library."""
    no_std = next(s for s in SITUATIONS if s.key == "no-target").world().links["cc"]
    world = World.with_rust()
    del world.programs["cc"]
    world.programs["gcc"] = "/usr/bin/gcc"
    world.links = {"gcc": no_std}

    problem = LinkerCheck().probe(world.context())

    assert problem is not None
    assert "standard library for aarch64-unknown-linux-gnu" in problem.what


def test_stand_in_of_macos_is_never_called() -> None:
    world = next(s for s in SITUATIONS if s.key == "stand-in").world()

    assert LinkerCheck().probe(world.context()) is not None
    assert world.commands == [("xcode-select", "-p")]


def test_compiler_of_conda_on_a_mac_needs_no_developer_tools() -> None:
    world = next(s for s in SITUATIONS if s.key == "stand-in").world()
    world.programs["cc"] = "/opt/conda/bin/cc"

    assert LinkerCheck().probe(world.context()) is None


def test_link_exe_on_path_is_no_proof() -> None:
    world = World(platform=WINDOWS, programs={"link": "C:/Program Files/Git/usr/bin/link.exe"})

    inspection = inspect(world.context())

    assert [name for name, _ in inspection.problems] == ["rust"]
    assert world.commands == []


def test_folder_that_forbids_programs_is_not_the_linkers_fault(tmp_path: Path) -> None:
    """The project lies elsewhere, so its own build scripts will run."""
    world = World.with_rust()
    world.root = Path("/home/user/project")
    world.links["cc"] = Outcome(101, stderr=_NOT_STARTED)

    context = world.context()
    problem = LinkerCheck().probe(context)

    assert len(_links(world)) == 2
    assert problem is not None
    assert "programs may not be run in the temporary folder" in problem.what


_NOT_STARTED = (
    "error: failed to run custom build command\n\nCaused by:\n  could not execute process "
    "`<probe>/build-script-build` (never executed)\n\nCaused by:\n  Permission denied\n"
)


def test_without_cargo_a_c_program_is_linked() -> None:
    world = World(
        programs={"gcc": "/usr/bin/gcc"}, answers={"gcc": Outcome(1, stderr="ld: crt1.o")}
    )

    problem = LinkerCheck().probe(world.context())

    assert problem is not None
    assert problem.what == "gcc cannot link: the C library's development files are missing"


def test_skipped_checks_look_at_nothing() -> None:
    world = World()
    world.environ["DAISY_BUILD_SKIP"] = "rust, linker unknown"

    inspection = inspect(world.context())

    assert [result.status for result in inspection.results] == [Status.SKIPPED] * 2
    assert inspection.warnings == ("DAISY_BUILD_SKIP: there is no check unknown",)
    assert world.commands == []
