"""The eight hooks: each checks first, and hands maturin exactly what it was given."""

from __future__ import annotations

import inspect
import os
import sys
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import daisy_build
import pytest
from daisy_build import gate
from daisy_build.context import Context, Purpose
from fake_world import World

HOOKS = {
    "get_requires_for_build_wheel": Purpose.WHEEL,
    "get_requires_for_build_editable": Purpose.EDITABLE,
    "get_requires_for_build_sdist": Purpose.SDIST,
    "prepare_metadata_for_build_wheel": Purpose.WHEEL,
    "prepare_metadata_for_build_editable": Purpose.EDITABLE,
    "build_wheel": Purpose.WHEEL,
    "build_editable": Purpose.EDITABLE,
    "build_sdist": Purpose.SDIST,
}
SETTINGS = {"maturin.build-args": "--profile dev", "other": ["a", "b"]}

Use = Callable[[World], list[Purpose]]


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Use:
    """Let the hooks see a made-up machine, and hear for which purposes they looked at it."""

    def replace(world: World) -> list[Purpose]:
        purposes: list[Purpose] = []

        def context(purpose: Purpose, config_settings: Mapping[str, Any] | None) -> Context:
            assert config_settings is SETTINGS
            purposes.append(purpose)
            world.purpose = purpose
            return world.context()

        monkeypatch.setattr(gate, "system_context", context)
        monkeypatch.setattr(os, "environ", {})
        return purposes

    return replace


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, tuple[object, ...]]]:
    """A maturin that only writes down how it is called."""
    made: list[tuple[str, tuple[object, ...]]] = []
    maturin = types.ModuleType("maturin")

    def recorder(name: str) -> Callable[..., str]:
        def record(*arguments: object) -> str:
            made.append((name, arguments))
            return f"answer of {name}"

        return record

    for name in HOOKS:
        setattr(maturin, name, recorder(name))
    monkeypatch.setitem(sys.modules, "maturin", maturin)
    return made


def _arguments(name: str) -> tuple[object, ...]:
    """As a frontend gives them: a folder where the hook writes, the settings, and metadata."""
    if name.startswith("get_requires"):
        return (SETTINGS,)
    if name in {"build_wheel", "build_editable"}:
        return ("folder", SETTINGS, "metadata")
    return ("folder", SETTINGS)


def test_the_front_door_is_the_hooks() -> None:
    assert daisy_build.__all__ == sorted(HOOKS)


@pytest.mark.parametrize("name", HOOKS)
def test_hook_hands_on_what_it_was_given(
    use: Use, calls: list[tuple[str, tuple[object, ...]]], name: str
) -> None:
    purposes = use(World.with_rust())

    answer = getattr(daisy_build, name)(*_arguments(name))

    assert answer == f"answer of {name}"
    assert calls == [(name, _arguments(name))]
    assert purposes == [HOOKS[name]]
    assert os.environ["MATURIN_NO_INSTALL_RUST"] == "1"


@pytest.mark.parametrize("name", HOOKS)
def test_hook_stops_before_maturin(
    use: Use,
    calls: list[tuple[str, tuple[object, ...]]],
    capsys: pytest.CaptureFixture[str],
    name: str,
) -> None:
    use(World())

    with pytest.raises(SystemExit) as stopped:
        getattr(daisy_build, name)(*_arguments(name))

    assert stopped.value.code == 1
    assert calls == []
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("daisy-build: error: daisy-py cannot be ")
    assert ("[linker]" in err) == (HOOKS[name] is not Purpose.SDIST)


def test_maturin_may_download_only_when_asked(
    use: Use, calls: list[tuple[str, tuple[object, ...]]], capsys: pytest.CaptureFixture[str]
) -> None:
    world = World(programs={"cc": "/usr/bin/cc"})
    world.links = {}
    world.answers["cc"] = World.with_rust().links["cc"]
    world.environ["DAISY_BUILD_INSTALL_RUST"] = "1"
    use(world)

    daisy_build.build_wheel("folder", SETTINGS)

    assert calls == [("build_wheel", ("folder", SETTINGS, None))]
    assert "MATURIN_NO_INSTALL_RUST" not in os.environ
    assert "maturin now downloads Rust" in capsys.readouterr().err


def test_linker_reaches_cargo(
    use: Use, calls: list[tuple[str, tuple[object, ...]]], capsys: pytest.CaptureFixture[str]
) -> None:
    world = World.with_rust()
    world.programs["gcc"] = world.programs.pop("cc")
    world.links["gcc"] = world.links.pop("cc")
    use(world)

    daisy_build.build_wheel("folder", SETTINGS)

    assert os.environ["CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER"] == "gcc"
    assert "cargo links with gcc" in capsys.readouterr().err


@pytest.mark.parametrize("name", HOOKS)
def test_hook_has_the_signature_of_the_standard(name: str) -> None:
    parameters = inspect.signature(getattr(daisy_build, name)).parameters

    expected = {
        "get_requires": ["config_settings"],
        "prepare_metadata": ["metadata_directory", "config_settings"],
        "build_wheel": ["wheel_directory", "config_settings", "metadata_directory"],
        "build_editable": ["wheel_directory", "config_settings", "metadata_directory"],
        "build_sdist": ["sdist_directory", "config_settings"],
    }
    assert [*parameters] == next(v for k, v in expected.items() if name.startswith(k))


def test_core_needs_only_the_standard_library() -> None:
    import ast

    allowed = sys.stdlib_module_names | {"daisy_build"}
    for file in Path(daisy_build.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            assert {name.partition(".")[0] for name in names} <= allowed, file.name
