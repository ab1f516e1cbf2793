"""Real builds on machines that have enough: they succeed, and the checks cost next to nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import venv
from pathlib import Path

import pytest
from daisy_build.context import Purpose
from daisy_build.inspection import inspect
from daisy_build.system import system_context
from real_machine import (
    ON_A_REAL_MACHINE,
    PACKAGE,
    Machine,
    children_cpu_seconds,
    tiny_crate,
    write_tree,
)

pytestmark = ON_A_REAL_MACHINE


def _complete(machine: Machine) -> None:
    machine.offer("cargo", "rustc")
    machine.offer_compiler("cc")


def _says_tiny(machine: Machine) -> bool:
    program = machine.folder / "venv" / "bin" / "tiny-crate"
    return machine.run(str(program)).output == "tiny\n"


@pytest.mark.parametrize("frontend", ["pip", "uv"])
@pytest.mark.parametrize("editable", [False, True], ids=["wheel", "editable"])
def test_install(machine: Machine, tmp_path: Path, frontend: str, editable: bool) -> None:
    _complete(machine)
    project = str(tiny_crate(tmp_path / "project"))

    attempt = machine.install(frontend, *(["-e"] if editable else []), project)

    assert attempt.code == 0, attempt.output
    assert _says_tiny(machine)


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("frontend", ["pip", "uv"])
def test_only_one_compiler_that_is_not_called_cc(
    machine: Machine, tmp_path: Path, frontend: str, compiler: str
) -> None:
    machine.offer("cargo", "rustc")
    # A compiler of another name is a compiler: what it is called here is what is judged.
    machine.offer_compiler(compiler, compiler if compiler == "gcc" else "cc")

    attempt = machine.install(frontend, str(tiny_crate(tmp_path / "project")))

    assert attempt.code == 0, attempt.output
    assert _says_tiny(machine)


def test_compiler_named_by_a_variable(machine: Machine, tmp_path: Path) -> None:
    machine.offer("cargo", "rustc")
    machine.offer_compiler("x86_64-conda-linux-gnu-cc", "cc")
    machine.environ["CC"] = str(machine.bin / "x86_64-conda-linux-gnu-cc")

    attempt = machine.install("pip", "-v", str(tiny_crate(tmp_path / "project")))

    assert attempt.code == 0, attempt.output
    assert "daisy-build: note: `cc` does not link; cargo links with" in attempt.output
    assert _says_tiny(machine)


def test_cc_that_asks_for_the_real_one_beside_a_compiler_that_links(
    machine: Machine, tmp_path: Path
) -> None:
    machine.offer("cargo", "rustc")
    machine.offer_compiler("gcc")
    machine.write_program("cc", "echo 'xcode-select: note: no developer tools' >&2; exit 1\n")

    attempt = machine.install("pip", str(tiny_crate(tmp_path / "project")))

    assert attempt.code == 0, attempt.output


def test_linker_of_the_cargo_configuration(machine: Machine, tmp_path: Path) -> None:
    machine.offer("cargo", "rustc")
    machine.offer_compiler("my-cc", "cc")
    project = write_tree(
        tiny_crate(tmp_path / "project"),
        {".cargo/config.toml": '[target."cfg(all())"]\nlinker = "my-cc"\n'},
    )

    attempt = machine.install("pip", "-v", str(project))

    assert attempt.code == 0, attempt.output
    assert "daisy-build: note" not in attempt.output


def test_sdist_needs_no_compiler(machine: Machine, tmp_path: Path) -> None:
    machine.offer("cargo", "rustc")
    project = tiny_crate(tmp_path / "project")
    target = machine.folder / "dist"

    attempt = machine.run(sys.executable, "-m", "build", "-s", "-o", str(target), str(project))

    assert attempt.code == 0, attempt.output
    assert [file.name for file in target.iterdir()] == ["tiny_crate-1.0.tar.gz"]


def test_pypa_build_passes_settings_on(machine: Machine, tmp_path: Path) -> None:
    _complete(machine)
    project = tiny_crate(tmp_path / "project")
    options = ("-w", "-C", "maturin.build-args=--profile dev", "-o", str(machine.folder / "dist"))

    attempt = machine.run(sys.executable, "-m", "build", *options, str(project))

    assert attempt.code == 0, attempt.output
    assert "--profile dev" in attempt.output
    assert (project / "target" / "debug").is_dir()


def test_the_pip_that_comes_with_python(machine: Machine, tmp_path: Path) -> None:
    _complete(machine)
    venv.create(tmp_path / "old", with_pip=True, symlinks=True)
    python = tmp_path / "old" / "bin" / "python"

    attempt = machine.run(
        str(python), "-m", "pip", "install", str(tiny_crate(tmp_path / "project"))
    )

    assert attempt.code == 0, attempt.output


def test_skipping_hands_the_question_to_cargo(machine: Machine, tmp_path: Path) -> None:
    machine.offer("cargo", "rustc")
    machine.environ["DAISY_BUILD_SKIP"] = "linker"

    attempt = machine.install("pip", str(tiny_crate(tmp_path / "project")))

    assert attempt.code != 0
    assert "daisy-build: error" not in attempt.output
    assert "linker `cc` not found" in attempt.output


def test_checks_cost_less_than_a_second() -> None:
    project = PACKAGE.parents[1]
    cpu, start = children_cpu_seconds() + time.process_time(), time.monotonic()

    inspection = inspect(system_context(Purpose.WHEEL, root=project))

    used = children_cpu_seconds() + time.process_time() - cpu
    crowd = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    assert not inspection.problems
    assert used < 1.0
    assert time.monotonic() - start < crowd


def test_doctor_of_this_machine_as_json() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "daisy_build", "--json", str(PACKAGE.parents[1])],
        env={**os.environ, "PYTHONPATH": str(PACKAGE / "src")},
        capture_output=True,
        text=True,
        check=False,
    )

    seen = json.loads(ended.stdout)
    assert ended.returncode == 0
    assert seen["ok"] is True
    assert seen["project"]["name"] == "daisy-py"
    assert [check["name"] for check in seen["checks"]] == ["rust", "linker"]
    assert {item["what"] for item in seen["checks"][0]["found"]} == {"cargo", "rustc"}
