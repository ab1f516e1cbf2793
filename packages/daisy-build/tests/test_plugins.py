"""Checks of other distributions: a real one, a broken one, and one that nobody asked for."""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from daisy_build.check import Check, Problem
from daisy_build.context import Context
from daisy_build.inspection import Status, inspect
from daisy_build.registry import GROUP, BrokenCheck, find_checks
from fake_world import World
from real_machine import Machine, tiny_crate, write_tree


class AlwaysMissing:
    """A check as another project may write it."""

    name = "licence-server"

    def applies(self, context: Context) -> bool:
        return context.platform.system == "linux"

    def probe(self, context: Context) -> Problem | None:
        return Problem("the licence server does not answer", fix="ask the administrator")


class RaisesWhenProbed(AlwaysMissing):
    name = "fragile"

    def probe(self, context: Context) -> Problem | None:
        raise RuntimeError("out of luck")


class AnswersNonsense(AlwaysMissing):
    name = "nonsense"

    def probe(self, context: Context) -> Problem | None:
        return "missing"  # type: ignore[return-value]


def _named(name: str, value: str) -> EntryPoint:
    return EntryPoint(name, value, GROUP)


def _checks(*wanted: str, installed: list[EntryPoint]) -> list[Check | BrokenCheck]:
    project = replace(World().context().project, settings={"checks": list(wanted)})
    return [*find_checks(project, installed)][2:]


def test_named_check_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "licence_checks", sys.modules[__name__])
    entry = _named("licence", "licence_checks:AlwaysMissing")

    (check,) = _checks("licence", installed=[entry])

    assert isinstance(check, AlwaysMissing)


def test_check_that_nobody_asked_for_is_not_even_imported() -> None:
    assert _checks(installed=[_named("other", "no_such_module:Check")]) == []


def test_check_that_cannot_be_imported_is_named() -> None:
    (check,) = _checks("gone", installed=[_named("gone", "no_such_module:Check")])

    assert isinstance(check, BrokenCheck)
    assert check.name == "gone"
    assert "no_such_module" in check.reason


def test_object_that_is_no_check_is_named() -> None:
    (check,) = _checks("path", installed=[_named("path", "pathlib:Path")])

    assert isinstance(check, BrokenCheck)
    assert "expected a check" in check.reason


def test_check_that_is_asked_for_and_not_installed_is_a_finding() -> None:
    context = World.with_rust().context()
    context = replace(context, project=replace(context.project, settings={"checks": ["gone"]}))

    ((name, problem),) = inspect(context).problems

    assert name == "gone"
    assert "nothing that is installed offers it" in problem.what


@pytest.mark.parametrize(
    ("check", "reason"),
    [
        (RaisesWhenProbed(), "RuntimeError: out of luck"),
        (AnswersNonsense(), "got 'missing', expected a Problem or None"),
    ],
)
def test_check_at_fault_stops_nothing_else(check: Check, reason: str) -> None:
    inspection = inspect(World.with_rust().context(), [check, AlwaysMissing()])

    broken, missing = inspection.results
    assert broken.status is Status.BROKEN
    assert broken.reason == reason
    assert missing.problem is not None
    assert check.name in inspection.warnings[0]


_PLUGIN = {
    "pyproject.toml": """\
        [build-system]
        requires = ["hatchling"]
        build-backend = "hatchling.build"

        [project]
        name = "Example_Checks"
        version = "1.0"

        [project.entry-points."daisy_build.checks"]
        generator = "example_checks:Generator"
        broken = "example_checks:Missing"
        """,
    "example_checks.py": """\
        from daisy_build.check import Problem


        class Generator:
            name = "generator"

            def applies(self, context):
                return context.purpose != "sdist"

            def probe(self, context):
                outcome = context.run(["generator", "--version"])
                if outcome.ok:
                    return None
                evidence = (outcome.stderr,)
                return Problem("generator does not run", fix="install it", evidence=evidence)
        """,
}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="PATH is made of links to tools of Linux")
@pytest.mark.parametrize("frontend", ["pip", "uv"])
def test_plugin_in_build_requires(machine: Machine, tmp_path: Path, frontend: str) -> None:
    """Found because the project requires its distribution; its broken sister is only mentioned."""
    machine.offer("cargo", "rustc")
    machine.offer_compiler("cc")
    plugin = write_tree(tmp_path / "plugin", _PLUGIN)
    own = tmp_path / "own"
    wheel = machine.run(
        sys.executable, "-m", "build", "-w", "--no-isolation", "-o", str(own), str(plugin)
    )
    assert wheel.code == 0, wheel.output
    machine.environ["PIP_FIND_LINKS"] += f" {own}"
    machine.environ["UV_FIND_LINKS"] += f",{own}"
    project = tiny_crate(tmp_path / "project", requires=("daisy-build", "example-checks>=1"))

    failed = machine.install(frontend, str(project))
    machine.write_program("generator", "echo 1.0\n")
    passed = machine.install(frontend, str(project))

    assert "1. generator does not run  [generator]" in failed.message
    assert "| generator: No such file or directory" in failed.message
    assert "Note: the check broken is broken and was left out (AttributeError" in failed.message
    assert passed.code == 0, passed.output
