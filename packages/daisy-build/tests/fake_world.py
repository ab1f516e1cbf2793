"""A machine made of data: what is on PATH, and what each program says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from daisy_build.context import Context, Outcome, Purpose
from daisy_build.manifest import RustVersion
from daisy_build.platforms import Platform
from daisy_build.project import Project

__all__ = [
    "ALPINE",
    "ARCH",
    "CONDA",
    "DEBIAN",
    "FEDORA",
    "HOMEBREW",
    "MACOS",
    "PLATFORMS",
    "SUSE",
    "UNKNOWN",
    "WINDOWS",
    "World",
    "rust_tools",
]

DEBIAN = Platform("linux", ("debian",))
FEDORA = Platform("linux", ("rocky", "rhel", "centos", "fedora"))
ALPINE = Platform("linux", ("alpine",), root=True)
ARCH = Platform("linux", ("manjaro", "arch"))
SUSE = Platform("linux", ("opensuse-leap", "suse", "opensuse"))
CONDA = Platform("linux", ("ubuntu", "debian"), conda=True)
MACOS = Platform("macos")
HOMEBREW = Platform("macos", homebrew=True)
WINDOWS = Platform("windows")
UNKNOWN = Platform("freebsd14")

PLATFORMS = {
    "Debian, Ubuntu": DEBIAN,
    "Fedora, RHEL": FEDORA,
    "Alpine (as root)": ALPINE,
    "Arch": ARCH,
    "openSUSE": SUSE,
    "conda on Linux": CONDA,
    "macOS": MACOS,
    "macOS with Homebrew": HOMEBREW,
    "Windows": WINDOWS,
    "any other": UNKNOWN,
}

_HOST = {"macos": "aarch64-apple-darwin", "windows": "x86_64-pc-windows-msvc"}
_NOT_FOUND = Outcome(1, stderr="error: linker `cc` not found")


def rust_tools(
    platform: Platform, version: str = "1.95.0", folder: str = "/home/user/.cargo/bin"
) -> tuple[dict[str, str], dict[str, Outcome]]:
    """Programs and answers of a Rust that works."""
    host = _HOST.get(platform.system, "x86_64-unknown-linux-gnu")
    programs = {name: f"{folder}/{name}" for name in ("cargo", "rustc")}
    words = f"rustc {version} (59807616e 2026-04-14)\nbinary: rustc\nhost: {host}\n"
    answers = {
        "cargo --version": Outcome(0, f"cargo {version} (f2d3ce0bd 2026-03-21)\n"),
        "rustc -vV": Outcome(0, words),
    }
    return programs, answers


@dataclass
class World:
    """What a context sees.

    Attributes:
        platform: The operating system.
        programs: Path by name; each is also found by its path.
        answers: What a command says, by its name and first arguments; the longest that fits.
        links: How an empty crate links, by linker; `cc` unless a variable names another.
        environ: The environment.
        requirements: `[tool.daisy-build]`.
        purpose: What is to be built.
        rust_version: What the project needs.
        root: The folder of the project.
    """

    platform: Platform = DEBIAN
    programs: dict[str, str] = field(default_factory=dict)
    answers: dict[str, Outcome] = field(default_factory=dict)
    links: dict[str, Outcome] = field(default_factory=lambda: {"cc": Outcome(0)})
    environ: dict[str, str] = field(default_factory=dict)
    requirements: Mapping[str, object] = field(default_factory=dict)
    purpose: Purpose = Purpose.WHEEL
    rust_version: str = "1.88"
    root: Path = Path("/home/user/project")
    commands: list[tuple[str, ...]] = field(default_factory=list)

    @classmethod
    def with_rust(cls, platform: Platform = DEBIAN, version: str = "1.95.0") -> World:
        """A machine with Rust, rustup and a compiler that links."""
        programs, answers = rust_tools(platform, version)
        programs["/home/user/.cargo/bin/rustup"] = "/home/user/.cargo/bin/rustup"
        if platform.system != "windows":
            programs["cc"] = "/usr/bin/cc"
        answers["xcode-select -p"] = Outcome(0, "/Library/Developer/CommandLineTools\n")
        return cls(platform=platform, programs=programs, answers=answers)

    def which(self, program: str) -> str | None:
        """By name, or by path."""
        if program in self.programs:
            return self.programs[program]
        return program if program in self.programs.values() else None

    def run(self, command: Sequence[str], variables: Mapping[str, str]) -> Outcome:
        """The answer of the longest key that the command begins with."""
        self.commands.append(tuple(command))
        words = " ".join([PurePath(command[0]).name, *command[1:]])
        if words.startswith("cargo rustc"):
            linker = next((v for k, v in variables.items() if k.endswith("_LINKER")), "cc")
            return self.links.get(linker, _NOT_FOUND)
        fitting = [key for key in self.answers if words.startswith(key)]
        if not fitting:
            return Outcome(127, stderr=f"{command[0]}: not in this world")
        return self.answers[max(fitting, key=len)]

    def context(self) -> Context:
        """A context of this world."""
        project = Project(
            root=self.root,
            name="daisy-py",
            rust=RustVersion(
                self.rust_version, f'rust-version = "{self.rust_version}" in Cargo.toml'
            ),
            settings=self.requirements,
        )
        return Context(
            purpose=self.purpose,
            project=project,
            platform=self.platform,
            environ=self.environ,
            which=self.which,
            runner=self.run,
            home=Path("/home/user"),
        )
