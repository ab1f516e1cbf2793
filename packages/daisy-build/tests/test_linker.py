"""How the link is tried: with what, for what, and what is never called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from daisy_build.arguments import MaturinArguments
from daisy_build.context import Context, Outcome, Runner
from daisy_build.inspection import Status, inspect
from daisy_build.linker import LinkerCheck
from fake_world import MACOS, WINDOWS, World
from situations import SITUATIONS

FOR_C = "CC_x86_64_unknown_linux_gnu"
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
    ("cc", "linker", "for_c"),
    [
        ("x86_64-conda-linux-gnu-cc", "x86_64-conda-linux-gnu-cc", {}),
        ("gcc -m64", "gcc", {}),
        ("missing-cc", "gcc", {FOR_C: "gcc"}),
    ],
)
def test_compiler_of_the_environment_comes_first(
    cc: str, linker: str, for_c: dict[str, str]
) -> None:
    world = World.with_rust()
    del world.programs["cc"]
    world.programs |= {name: f"/opt/{name}" for name in ("x86_64-conda-linux-gnu-cc", "gcc")}
    world.links = {"x86_64-conda-linux-gnu-cc": Outcome(0), "gcc": Outcome(0)}
    world.environ["CC"] = cc
    context = world.context()

    assert LinkerCheck().probe(context) is None
    assert context.exports == {VARIABLE: linker, **for_c}


def test_second_compiler_is_tried_when_the_first_does_not_link() -> None:
    world = next(s for s in SITUATIONS if s.key == "no-libc").world()
    failed = world.links["cc"]
    world.programs |= {"gcc": "/usr/bin/gcc", "clang": "/usr/bin/clang"}
    words = failed.stderr.replace("`cc`", "`gcc`")
    world.links |= {"gcc": Outcome(101, stderr=words), "clang": Outcome(0)}
    context = world.context()

    assert LinkerCheck().probe(context) is None
    assert context.exports == {VARIABLE: "clang", FOR_C: "clang"}


@pytest.mark.parametrize("name", [FOR_C, "CC_x86_64-unknown-linux-gnu", "HOST_CC"])
def test_compiler_of_c_that_the_user_chose_is_kept(name: str) -> None:
    world = next(s for s in SITUATIONS if s.key == "only-gcc").world()
    world.environ[name] = "musl-gcc"
    context = world.context()

    assert LinkerCheck().probe(context) is None
    assert context.exports == {VARIABLE: "gcc"}


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


@pytest.mark.parametrize(("second", "passes"), [(0, True), (101, False)])
def test_folder_that_forbids_programs(second: int, passes: bool) -> None:
    """A project that lies elsewhere can run its build scripts; the link is tried without one."""
    world = next(s for s in SITUATIONS if s.key == "noexec").world()
    refused = world.links["cc"]
    answers = [refused, Outcome(second, stderr=refused.stderr)]
    context = world.context()
    context.runner = _answers(answers, world)

    problem = LinkerCheck().probe(context)

    assert answers == []
    assert (problem is None) == passes


def _answers(answers: list[Outcome], world: World) -> Runner:
    def run(command: Sequence[str], variables: Mapping[str, str]) -> Outcome:
        linking = command[1:2] == ["rustc"]
        return answers.pop(0) if linking else world.run(command, variables)

    return run


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
