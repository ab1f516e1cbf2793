"""The situations that the checks tell apart: judged by the tests, and listed in the documentation.

What the tools say here is what they said on real machines, or what their sources say they do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import fake_world as fake
from daisy_build.context import Outcome, Purpose
from daisy_build.platforms import Platform
from fake_world import World

__all__ = ["SITUATIONS", "Situation"]


@dataclass(frozen=True)
class Situation:
    """One state of a machine.

    Attributes:
        key: Name of the snapshot.
        title: For the documentation.
        where: The platform, for the documentation.
        world: Makes the machine.
        checks: The checks that have a finding; empty where the build goes on.
    """

    key: str
    title: str
    where: str
    world: Callable[[], World]
    checks: tuple[str, ...] = ()


_SHIM = Outcome(
    1,
    stderr=(
        "error: rustup could not choose a version of cargo to run, because one wasn't specified "
        "explicitly, and no default is configured.\n"
        "help: run 'rustup default stable' to download the latest stable release of Rust and set "
        "it as your default toolchain.\n"
    ),
)
_PINNED = Outcome(
    1,
    stderr=(
        "error: toolchain '1.88-x86_64-unknown-linux-gnu' is not installed\n"
        "help: run `rustup toolchain install 1.88-x86_64-unknown-linux-gnu` to install it\n"
    ),
)
_LINK_LINE = '  = note:  "cc" "-m64" "<probe>/rmeta.o" ' + '"-Wl,--as-needed" ' * 100 + "\n"
_NO_HEADERS = Outcome(
    101,
    stderr=(
        "error: linking with `cc` failed: exit status: 1\n  |\n" + _LINK_LINE + "  = note: some "
        "arguments are omitted. use `--verbose` to show all linker arguments\n"
        "  = note: rust-lld: error: cannot open Scrt1.o: No such file or directory\n"
        "          rust-lld: error: cannot open crti.o: No such file or directory\n"
        "          collect2: error: ld returned 1 exit status\n\n\n"
        "error: could not compile `daisy-build-probe` (build script) due to 1 previous error\n"
    ),
)
_NO_CC = Outcome(
    101,
    stderr=(
        "error: linker `cc` not found\n  |\n  = note: No such file or directory (os error 2)\n\n"
        "error: could not compile `daisy-build-probe` (build script) due to 1 previous error\n"
    ),
)
_NO_DEVELOPER_TOOLS = Outcome(
    2,
    stderr=(
        "xcode-select: error: unable to get active developer directory, use `sudo xcode-select "
        "--switch path/to/Xcode.app` to set one (or see `man xcode-select`)\n"
    ),
)
_NO_MSVC = Outcome(
    101,
    stderr=(
        "error: linker `link.exe` not found\n  |\n  = note: program not found\n\n"
        "note: the msvc targets depend on the msvc linker but `link.exe` was not found\n\n"
        "note: please ensure that Visual Studio 2017 or later, or Build Tools for Visual Studio "
        "were installed with the Visual C++ option.\n\n"
        "note: VS Code is a different product, and is not sufficient.\n\n"
        "error: could not compile `daisy-build-probe` (build script) due to 1 previous error\n"
    ),
)
_GIT_LINK = Outcome(
    101,
    stderr=(
        "error: linking with `link.exe` failed: exit code: 1\n  |\n"
        '  = note: "link.exe" "/NOLOGO" "rmeta.o" "/OUT:build_script_build.exe"\n'
        "  = note: link: extra operand 'rmeta.o'\n"
        "          Try 'link --help' for more information.\n\n\n"
        "note: `link.exe` returned an unexpected error\n\n"
        "error: could not compile `daisy-build-probe` (build script) due to 1 previous error\n"
    ),
)
_NO_STD = Outcome(
    101,
    stderr=(
        "error[E0463]: can't find crate for `std`\n  |\n"
        "  = note: the `aarch64-unknown-linux-gnu` target may not be installed\n"
        "  = help: consider downloading the target with `rustup target add "
        "aarch64-unknown-linux-gnu`\n\n"
        "For more information about this error, try `rustc --explain E0463`.\n"
        "error: could not compile `daisy-build-probe` (lib) due to 1 previous error\n"
    ),
)
_NO_MY_LD = Outcome(
    101,
    stderr=(
        "error: linker `my-ld` not found\n  |\n  = note: No such file or directory (os error 2)\n"
    ),
)
_NO_WRAPPER = Outcome(
    101,
    stderr=(
        "error: failed to run `rustc` to learn about target-specific information\n\n"
        "Caused by:\n  could not execute process `sccache rustc - --crate-name ___` "
        "(never executed)\n\nCaused by:\n  No such file or directory (os error 2)\n"
    ),
)
_NOT_EXECUTABLE = Outcome(
    101,
    stderr=(
        "error: failed to run custom build command for `daisy-build-probe v0.0.0 (<probe>)`\n\n"
        "Caused by:\n  could not execute process `<probe>/target/debug/build/probe/build-script-"
        "build` (never executed)\n\nCaused by:\n  Permission denied (os error 13)\n"
    ),
)
_VARIABLE = "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER"


def _bare(platform: Platform, *programs: str) -> Callable[[], World]:
    """A machine without Rust, with the programs named."""

    def make() -> World:
        return World(
            platform=platform,
            programs={name: f"/usr/bin/{name}" for name in programs},
            answers={name: Outcome(0) for name in programs}
            | {"xcode-select -p": Outcome(0, "/Library/Developer/CommandLineTools\n")},
        )

    return make


def _links(platform: Platform, *programs: str, **links: Outcome) -> Callable[[], World]:
    """A machine with Rust, the compilers named, and how each of them links."""

    def make() -> World:
        world = World.with_rust(platform)
        world.programs.pop("cc", None)
        world.programs |= {name: f"/usr/bin/{name}" for name in programs}
        world.links = links
        return world

    return make


def _cargo_elsewhere() -> World:
    world = _bare(fake.DEBIAN, "cc")()
    world.programs["/home/user/.cargo/bin/cargo"] = "/home/user/.cargo/bin/cargo"
    return world


def _cargo_by_variable() -> World:
    world = _bare(fake.WINDOWS)()
    world.environ["CARGO"] = "C:/rust/bin/cargo.exe"
    world.programs["C:/rust/bin/cargo.exe"] = "C:/rust/bin/cargo.exe"
    return world


def _shim(answer: Outcome) -> Callable[[], World]:
    def make() -> World:
        world = World.with_rust()
        world.answers["cargo --version"] = answer
        world.answers["cc"] = Outcome(0)
        return world

    return make


def _cargo_only() -> World:
    world = World.with_rust(fake.ARCH)
    del world.programs["rustc"]
    world.answers["cc"] = Outcome(0)
    return world


def _old(platform: Platform, active: str | None) -> Callable[[], World]:
    def make() -> World:
        world = World.with_rust(platform, "1.75.0")
        if active is None:
            del world.programs["/home/user/.cargo/bin/rustup"]
        else:
            world.answers["rustup show active-toolchain"] = Outcome(0, active)
        return world

    return make


def _stand_in() -> World:
    world = World.with_rust(fake.MACOS)
    world.answers["xcode-select -p"] = _NO_DEVELOPER_TOOLS
    return world


def _wrong_variable() -> World:
    world = _links(fake.DEBIAN, "cc", cc=_NO_MY_LD)()
    world.environ[_VARIABLE] = "my-ld"
    return world


def _wrapper() -> World:
    world = _links(fake.DEBIAN, "cc", cc=_NO_WRAPPER)()
    world.environ["RUSTC_WRAPPER"] = "sccache"
    return world


def _noexec() -> World:
    return _links(fake.DEBIAN, "cc", cc=_NOT_EXECUTABLE)()


def _sdist() -> World:
    world = World.with_rust()
    del world.programs["cc"]
    world.purpose = Purpose.SDIST
    return world


def _sdist_without_cargo() -> World:
    world = World()
    world.purpose = Purpose.SDIST
    return world


def _allowed() -> World:
    world = _bare(fake.DEBIAN, "cc")()
    world.environ["DAISY_BUILD_INSTALL_RUST"] = "1"
    return world


def _requires(platform: Platform, entry: Mapping[str, object]) -> Callable[[], World]:
    def make() -> World:
        world = World.with_rust(platform)
        world.requirements = {"require": [entry]}
        return world

    return make


def _old_cmake() -> World:
    entry = {"tool": "cmake", "at-least": "3.20", "for": "the bundled codec"}
    world = _requires(fake.FEDORA, entry)()
    world.programs["cmake"] = "/usr/bin/cmake"
    world.answers["cmake --version"] = Outcome(0, "cmake version 3.16.3\n\nCMake suite\n")
    return world


def _no_header() -> World:
    world = _requires(fake.DEBIAN, {"header": "zlib.h"})()
    words = "<probe>/probe.c:1:10: fatal error: zlib.h: No such file or directory\n"
    world.answers["cc"] = Outcome(1, stderr=words)
    return world


def _misspelt() -> World:
    world = World.with_rust()
    world.requirements = {"require": [{"tool": "cmake", "minimum": "3.20"}]}
    return world


SITUATIONS: tuple[Situation, ...] = (
    Situation("no-cargo", "No cargo", "Debian", _bare(fake.DEBIAN, "cc"), ("rust",)),
    Situation(
        "nothing", "Neither cargo nor compiler", "Debian", _bare(fake.DEBIAN), ("rust", "linker")
    ),
    Situation(
        "nothing-conda",
        "Neither cargo nor compiler",
        "conda",
        _bare(fake.CONDA),
        ("rust", "linker"),
    ),
    Situation(
        "nothing-alpine",
        "Neither cargo nor compiler",
        "Alpine",
        _bare(fake.ALPINE),
        ("rust", "linker"),
    ),
    Situation(
        "no-cargo-homebrew", "No cargo", "macOS, Homebrew", _bare(fake.HOMEBREW, "cc"), ("rust",)
    ),
    Situation("no-cargo-windows", "No cargo", "Windows", _bare(fake.WINDOWS), ("rust",)),
    Situation(
        "cargo-off-path",
        "cargo in `~/.cargo/bin`, not on PATH",
        "Debian",
        _cargo_elsewhere,
        ("rust",),
    ),
    Situation(
        "cargo-by-variable", "cargo only in `$CARGO`", "Windows", _cargo_by_variable, ("rust",)
    ),
    Situation("shim", "rustup without a toolchain", "Debian", _shim(_SHIM), ("rust",)),
    Situation(
        "shim-pinned", "The pinned toolchain is not installed", "Debian", _shim(_PINNED), ("rust",)
    ),
    Situation("no-rustc", "cargo without rustc", "Arch", _cargo_only, ("rust",)),
    Situation(
        "old-stable",
        "rustc older than `rust-version`, rustup's stable",
        "Debian",
        _old(fake.DEBIAN, "stable-x86_64-unknown-linux-gnu (default)\n"),
        ("rust",),
    ),
    Situation(
        "old-pinned",
        "rustc older than `rust-version`, pinned by a toolchain file",
        "Debian",
        _old(
            fake.DEBIAN, "1.75-x86_64-unknown-linux-gnu (overridden by '/p/rust-toolchain.toml')\n"
        ),
        ("rust",),
    ),
    Situation(
        "old-variable",
        "rustc older than `rust-version`, chosen by RUSTUP_TOOLCHAIN",
        "Debian",
        _old(
            fake.DEBIAN,
            "1.75-x86_64-unknown-linux-gnu (overridden by environment variable RUSTUP_TOOLCHAIN)\n",
        ),
        ("rust",),
    ),
    Situation(
        "old-package",
        "rustc older than `rust-version`, not rustup's",
        "Fedora",
        _old(fake.FEDORA, None),
        ("rust",),
    ),
    Situation("no-linker", "No compiler", "Debian", _links(fake.DEBIAN, cc=_NO_CC), ("linker",)),
    Situation(
        "no-linker-fedora", "No compiler", "Fedora", _links(fake.FEDORA, cc=_NO_CC), ("linker",)
    ),
    Situation(
        "no-linker-suse", "No compiler", "openSUSE", _links(fake.SUSE, cc=_NO_CC), ("linker",)
    ),
    Situation(
        "no-linker-unknown", "No compiler", "unknown", _links(fake.UNKNOWN, cc=_NO_CC), ("linker",)
    ),
    Situation(
        "only-gcc",
        "gcc, but no cc",
        "Debian",
        _links(fake.DEBIAN, "gcc", cc=_NO_CC, gcc=Outcome(0)),
    ),
    Situation(
        "only-clang",
        "clang, but no cc",
        "Arch",
        _links(fake.ARCH, "clang", cc=_NO_CC, clang=Outcome(0)),
    ),
    Situation(
        "no-libc",
        "cc without the C library's files",
        "Debian",
        _links(fake.DEBIAN, "cc", cc=_NO_HEADERS),
        ("linker",),
    ),
    Situation("stand-in", "`cc` is the stand-in of macOS", "macOS", _stand_in, ("linker",)),
    Situation(
        "no-msvc",
        "No Visual Studio",
        "Windows",
        _links(fake.WINDOWS, "link", cc=_NO_MSVC),
        ("linker",),
    ),
    Situation(
        "other-link",
        "Another `link.exe` than Microsoft's",
        "Windows",
        _links(fake.WINDOWS, "link", cc=_GIT_LINK),
        ("linker",),
    ),
    Situation(
        "no-target",
        "No standard library for the target",
        "Debian",
        _links(fake.DEBIAN, "cc", cc=_NO_STD),
        ("linker",),
    ),
    Situation(
        "wrong-variable",
        "A linker variable names no program",
        "Debian",
        _wrong_variable,
        ("linker",),
    ),
    Situation("no-wrapper", "RUSTC_WRAPPER names no program", "Debian", _wrapper, ("linker",)),
    Situation(
        "noexec",
        "The temporary folder is mounted noexec",
        "Debian",
        _noexec,
        ("linker",),
    ),
    Situation(
        "no-cmake",
        "A required tool is missing",
        "Debian",
        _requires(fake.DEBIAN, {"tool": "cmake"}),
        ("tool:cmake",),
    ),
    Situation(
        "no-protoc",
        "A required tool is missing",
        "macOS, Homebrew",
        _requires(fake.HOMEBREW, {"tool": "protoc"}),
        ("tool:protoc",),
    ),
    Situation("old-cmake", "A required tool is too old", "Fedora", _old_cmake, ("tool:cmake",)),
    Situation("no-header", "A required header is missing", "Debian", _no_header, ("tool:zlib.h",)),
    Situation(
        "settings", "`[tool.daisy-build]` has an unknown key", "any", _misspelt, ("settings",)
    ),
    Situation("sdist", "A source distribution, without a compiler", "Debian", _sdist),
    Situation(
        "sdist-no-cargo",
        "A source distribution, without cargo",
        "Debian",
        _sdist_without_cargo,
        ("rust",),
    ),
    Situation("allowed", "No cargo, DAISY_BUILD_INSTALL_RUST=1", "Debian", _allowed),
)
