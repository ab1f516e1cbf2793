"""Real installs where something is missing: the message is there, at once, and nothing else."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from daisy_build import advice
from daisy_build.platforms import detect_platform
from real_machine import ON_A_REAL_MACHINE, Attempt, Machine, plain, rust_program, tiny_crate

pytestmark = ON_A_REAL_MACHINE

# A failing situation has to say so within this time on a machine that has nothing else to do.
PATIENCE_SECONDS = 5.0

_PLATFORM = detect_platform(os.environ, shutil.which)
FIX_RUST = advice.install_rust(_PLATFORM)
FIX_LINKER = advice.compiler(_PLATFORM)


@dataclass(frozen=True)
class Case:
    """A machine on which an install fails.

    Attributes:
        prepare: Puts tools on its PATH.
        findings: The numbered part of the message.
        skip: What the message says after DAISY_BUILD_SKIP.
        rust_version: What the tiny crate asks for.
    """

    prepare: Callable[[Machine], None]
    findings: str
    skip: str
    rust_version: str = "1.60"


def _no_cargo(machine: Machine) -> None:
    machine.offer_compiler("cc")


def _cargo_off_path(machine: Machine) -> None:
    machine.offer_compiler("cc")
    folder = machine.folder / "home" / ".cargo" / "bin"
    folder.mkdir(parents=True)
    cargo = rust_program("cargo")
    assert cargo is not None
    (folder / "cargo").symlink_to(cargo)


def _no_cc(machine: Machine) -> None:
    machine.offer("cargo", "rustc")


def _broken_shim(machine: Machine) -> None:
    machine.offer_compiler("cc")
    for name in ("cargo", "rustc"):
        machine.write_program(
            name,
            """\
            echo "error: rustup could not choose a version of ${0##*/} to run" >&2
            echo "help: run 'rustup default stable' to download the latest stable release" >&2
            exit 1
            """,
        )


def _stub_cc(machine: Machine) -> None:
    machine.offer("cargo", "rustc")
    machine.write_program(
        "cc",
        """\
        echo "xcode-select: note: No developer tools were found, requesting install." >&2
        exit 1
        """,
    )


def _no_libc(machine: Machine) -> None:
    machine.offer("cargo", "rustc")
    machine.offer_compiler("real-cc", "cc")
    machine.write_program("cc", 'exec real-cc "$@" -nostartfiles -Wl,/nonexistent/Scrt1.o\n')


def _complete(machine: Machine) -> None:
    machine.offer("cargo", "rustc")
    machine.offer_compiler("cc")


CASES = {
    "no-cargo": Case(
        _no_cargo,
        f"""\
  1. cargo, the Rust package manager, was not found  [rust]
     Looked for: `cargo` on PATH, <machine>/home/.cargo/bin/cargo
     Fix: {FIX_RUST}
""",
        "rust",
    ),
    "cargo-off-path": Case(
        _cargo_off_path,
        """\
  1. cargo, the Rust package manager, is in <machine>/home/.cargo/bin, which is not on PATH  [rust]
     Looked for: `cargo` on PATH
     Fix: export PATH="<machine>/home/.cargo/bin:$PATH"
""",
        "rust",
    ),
    "no-cc": Case(
        _no_cc,
        f"""\
  1. no C compiler was found, and Rust needs one to link  [linker]
     Looked for: `cc`, $CC, `gcc`, `clang` on PATH
       | error: linker `cc` not found
       | No such file or directory (os error 2)
     Fix: {FIX_LINKER}
""",
        "linker",
    ),
    "broken-shim": Case(
        _broken_shim,
        """\
  1. cargo is rustup's stand-in, and rustup has no Rust toolchain  [rust]
     Looked for: <machine>/bin/cargo, which failed when asked for its version
       | error: rustup could not choose a version of cargo to run
       | run 'rustup default stable' to download the latest stable release
     Fix: rustup default stable
""",
        "rust",
    ),
    "stub-cc": Case(
        _stub_cc,
        """\
  1. cc is the stand-in of macOS: the command line developer tools are not installed  [linker]
     Looked for: <machine>/bin/cc, `xcode-select -p`
       | error: linking with `cc` failed: exit status: 1
       | xcode-select: note: No developer tools were found, requesting install.
     Fix: xcode-select --install
""",
        "linker",
    ),
    "too-old": Case(
        _complete,
        """\
  1. rustc <have> is too old: tiny-crate needs 9.99 or newer  [rust]
     Looked for: <machine>/bin/rustc; rust-version = "9.99" in Cargo.toml
       | <words>
     Fix: <newer>
""",
        "rust",
        rust_version="9.99",
    ),
}


def expected(case: Case, name: str) -> str:
    """The whole message."""
    findings = case.findings
    if "<words>" in findings:
        words = subprocess.check_output([rust_program("rustc") or "", "-V"], text=True).strip()  # noqa: S603
        findings = findings.replace("<words>", words).replace("<have>", words.split()[1])
        findings = findings.replace("<newer>", advice.update_rust(_PLATFORM))
    return f"""\
daisy-build: error: {name} cannot be built from source here yet: 1 thing is missing.

{findings}
  Then run the same command again.
  A prebuilt wheel, if there is one, needs none of this: pip install --only-binary {name} {name}
  To build without a check, name it as in brackets: DAISY_BUILD_SKIP={case.skip}
"""


def assert_fails_well(attempt: Attempt) -> None:
    """Not a success, no traceback, and soon."""
    assert attempt.code != 0
    assert "Traceback" not in attempt.output
    assert attempt.cpu_seconds < PATIENCE_SECONDS
    # Others may use this machine; nobody makes a process wait for a network that is not there.
    crowd = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    assert attempt.seconds < PATIENCE_SECONDS * crowd


@pytest.mark.parametrize("frontend", ["pip", "uv"])
@pytest.mark.parametrize("key", CASES)
def test_tiny_crate(machine: Machine, tmp_path: Path, key: str, frontend: str) -> None:
    case = CASES[key]
    project = tiny_crate(tmp_path / "project", case.rust_version)
    case.prepare(machine)
    before = machine.files(project)

    attempt = machine.install(frontend, str(project))

    assert plain(attempt.message, machine) == expected(case, "tiny-crate"), attempt.output
    assert_fails_well(attempt)
    assert machine.files(project) == before


FRAMES = {
    "pip": (
        "error: subprocess-exited-with-error",
        "",
        "\u00d7 Getting requirements to build wheel did not run successfully.",
        "\u2502 exit code: 1",
        "\u2570\u2500> [9 lines of output]",
    ),
    "uv": ("", "[stderr]"),
}


@pytest.mark.parametrize("frontend", FRAMES)
def test_message_in_the_frame_of_the_frontend(
    machine: Machine, tmp_path: Path, frontend: str
) -> None:
    """What the user sees: the frontend's own words, then ours, whole and with one indent."""
    case = CASES["no-cargo"]
    case.prepare(machine)
    # Too short for a line to be folded, so that the frame counts the same lines everywhere.
    machine.environ["HOME"] = "/h"

    lines = machine.install(frontend, str(tiny_crate(tmp_path / "project"))).output.splitlines()

    start = next(i for i, line in enumerate(lines) if "daisy-build: error:" in line)
    frame = FRAMES[frontend]
    assert tuple(line.strip() for line in lines[start - len(frame) : start]) == frame
    indent = lines[start][: lines[start].index("daisy-build")]
    wanted = expected(case, "tiny-crate").replace("<machine>/home", "/h").splitlines()
    seen = [line.rstrip() for line in lines[start : start + len(wanted)]]
    assert seen == [f"{indent}{line}".rstrip() for line in wanted]
    assert indent.isspace()


@pytest.mark.parametrize("frontend", ["pip", "uv"])
def test_no_c_library(machine: Machine, tmp_path: Path, frontend: str) -> None:
    project = tiny_crate(tmp_path / "project")
    _no_libc(machine)
    before = machine.files(project)

    attempt = machine.install(frontend, str(project))

    assert "cc cannot link: the C library's development files are missing" in attempt.message
    assert FIX_LINKER in attempt.message
    assert_fails_well(attempt)
    assert machine.files(project) == before


@pytest.mark.parametrize("frontend", ["pip", "uv"])
@pytest.mark.parametrize("key", ["no-cargo", "no-cc", "broken-shim", "stub-cc"])
def test_this_project(machine: Machine, daisy_tree: Path, key: str, frontend: str) -> None:
    case = CASES[key]
    case.prepare(machine)
    before = machine.files(daisy_tree)

    attempt = machine.install(frontend, "--no-deps", str(daisy_tree))

    assert plain(attempt.message, machine) == expected(case, "daisy-py"), attempt.output
    assert_fails_well(attempt)
    assert machine.files(daisy_tree) == before


@pytest.mark.parametrize("frontend", ["pip", "uv"])
def test_this_project_asks_for_a_newer_rust(
    machine: Machine, daisy_tree: Path, tmp_path: Path, frontend: str
) -> None:
    """The version stands in the workspace, and the crate inherits it."""
    project = shutil.copytree(daisy_tree, tmp_path / "project")
    workspace = (project / "Cargo.toml").read_text(encoding="utf-8")
    newer = re.sub(r'(rust-version = )"[0-9.]+"', r'\1"9.99"', workspace)
    (project / "Cargo.toml").write_text(newer, encoding="utf-8")
    case = CASES["too-old"]
    case.prepare(machine)

    attempt = machine.install(frontend, "--no-deps", str(project))

    words = expected(case, "daisy-py").replace("tiny-crate needs", "daisy-py needs")
    assert plain(attempt.message, machine) == words, attempt.output
    assert_fails_well(attempt)


@pytest.mark.parametrize("frontend", ["pip", "uv"])
def test_all_that_is_missing_is_said_at_once(
    machine: Machine, tmp_path: Path, frontend: str
) -> None:
    project = tiny_crate(
        tmp_path / "project",
        extra="""
        [[tool.daisy-build.require]]
        tool = "no-such-generator"
        at-least = "2.0"
        """,
    )

    attempt = machine.install(frontend, str(project))

    assert "3 things are missing" in attempt.message
    assert "  1. cargo, the Rust package manager, was not found  [rust]" in attempt.message
    assert "  2. no C compiler was found, and Rust needs one to link  [linker]" in attempt.message
    assert "  3. no-such-generator was not found  [tool:no-such-generator]" in attempt.message
    assert "DAISY_BUILD_SKIP=rust,linker,tool:no-such-generator" in attempt.message
    assert_fails_well(attempt)


@pytest.mark.parametrize("frontend", ["pip", "uv"])
def test_editable_install_fails_in_the_same_words(
    machine: Machine, tmp_path: Path, frontend: str
) -> None:
    project = tiny_crate(tmp_path / "project")
    _no_cargo(machine)

    attempt = machine.install(frontend, "-e", str(project))

    assert plain(attempt.message, machine) == expected(CASES["no-cargo"], "tiny-crate")
    assert_fails_well(attempt)


def test_without_build_isolation(machine: Machine, tmp_path: Path) -> None:
    """The hook that asks for requirements may then not be called at all."""
    project = tiny_crate(tmp_path / "project")
    _no_cargo(machine)
    assert machine.install("pip", "daisy-build").code == 0

    attempt = machine.install("pip", "--no-build-isolation", str(project))

    assert plain(attempt.message, machine) == expected(CASES["no-cargo"], "tiny-crate")
    assert_fails_well(attempt)


def test_pypa_build(machine: Machine, tmp_path: Path) -> None:
    project = tiny_crate(tmp_path / "project")
    _no_cc(machine)

    attempt = machine.run(
        sys.executable, "-m", "build", "--wheel", "-o", str(machine.folder / "dist"), str(project)
    )

    assert plain(attempt.message, machine) == expected(CASES["no-cc"], "tiny-crate")
    assert_fails_well(attempt)
