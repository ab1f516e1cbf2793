"""This machine, with only the tools that a test chooses on PATH, and without a network."""

from __future__ import annotations

import functools
import os
import re
import resource
import shutil
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

__all__ = [
    "ON_A_REAL_MACHINE",
    "Attempt",
    "Machine",
    "daisy_tree",
    "machine",
    "plain",
    "rust_program",
    "tiny_crate",
    "uv_program",
    "wheelhouse",
    "write_tree",
]

# For tests that install something for real.
ON_A_REAL_MACHINE = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="PATH is made of links to tools of Linux"),
]

REPOSITORY = Path(__file__).resolve().parents[3]
PACKAGE = REPOSITORY / "packages" / "daisy-build"

# What cargo keeps beside its registry, and uv beside an environment, whenever they run at all.
_LOCKS = {".package-cache", ".package-cache-mutate", ".global-cache", ".lock"}

# What gcc and clang call, and what shells of build scripts may; none of them is called `cc`.
_BINARY_TOOLS = ("ld", "ld.bfd", "ld.gold", "ld.lld", "as", "ar")


@dataclass(frozen=True)
class Attempt:
    """One run of a frontend."""

    code: int
    output: str
    seconds: float
    cpu_seconds: float

    @property
    def message(self) -> str:
        """What daisy-build said, taken out of the frame that the frontend put around it."""
        lines = self.output.splitlines()
        first = next((i for i, line in enumerate(lines) if "daisy-build: error:" in line), None)
        if first is None:
            return ""
        column = lines[first].index("daisy-build: error:")
        last = next(i for i in range(first, len(lines)) if "DAISY_BUILD_SKIP=" in lines[i])
        return "".join(f"{line[column:].rstrip()}\n" for line in lines[first : last + 1])


@dataclass
class Machine:
    """A folder that holds a home, a temporary folder, a PATH and an environment to install in."""

    folder: Path
    wheelhouse: Path
    environ: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Lay out the folders."""
        for name in ("bin", "home", "tmp", "dist"):
            (self.folder / name).mkdir()
        uv("venv", "-q", "-p", sys.executable, str(self.folder / "venv"))
        self.environ |= {
            "PATH": str(self.folder / "bin"),
            "HOME": str(self.folder / "home"),
            "TMPDIR": str(self.folder / "tmp"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_NO_CACHE_DIR": "1",
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(self.wheelhouse),
            "UV_NO_CACHE": "1",
            "UV_NO_CONFIG": "1",
            "UV_OFFLINE": "1",
            "UV_NO_INDEX": "1",
            "UV_FIND_LINKS": str(self.wheelhouse),
            # Whoever asks for a proxy gets one that does not answer.
            **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), "http://127.0.0.1:9"),
        }

    @property
    def python(self) -> Path:
        """The interpreter to install for."""
        return self.folder / "venv" / "bin" / "python"

    @property
    def bin(self) -> Path:
        """The only folder on PATH."""
        return self.folder / "bin"

    def offer(self, *programs: str) -> None:
        """Put programs of the real machine on PATH; skip the test where they are not."""
        for name in programs:
            found = rust_program(name) if name in {"cargo", "rustc"} else shutil.which(name)
            if found is None:
                pytest.skip(f"{name} is not installed here")
            (self.bin / name).symlink_to(found)

    def offer_compiler(self, name: str, real: str | None = None) -> None:
        """Put a C compiler on PATH under a name of choice, with what it calls."""
        found = shutil.which(real or name)
        if found is None:
            pytest.skip(f"{real or name} is not installed here")
        (self.bin / name).symlink_to(found)
        for tool in _BINARY_TOOLS:
            where = shutil.which(tool)
            if where is not None and not (self.bin / tool).exists():
                (self.bin / tool).symlink_to(where)

    def write_program(self, name: str, script: str) -> None:
        """Put a shell script on PATH."""
        program = self.bin / name
        program.write_text(f"#!/bin/sh\n{textwrap.dedent(script)}", encoding="utf-8")
        program.chmod(0o755)

    def pip(self, *arguments: str) -> Attempt:
        """Run the pip of the tests for this machine's environment."""
        return self.run(sys.executable, "-m", "pip", "--python", str(self.python), *arguments)

    def install(self, frontend: str, *arguments: str) -> Attempt:
        """Install with `pip` or with `uv`."""
        if frontend == "pip":
            return self.pip("install", *arguments)
        return self.run(uv_program(), "pip", "install", "--python", str(self.python), *arguments)

    def run(self, *command: str, folder: Path | None = None) -> Attempt:
        """Run a command where no network can be reached."""
        cpu, start = children_cpu_seconds(), time.monotonic()
        ended = subprocess.run(  # noqa: S603 - the commands are those of the tests
            [*without_network(), *command],
            cwd=folder or self.folder,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            check=False,
        )
        return Attempt(
            code=ended.returncode,
            output=ended.stdout,
            seconds=time.monotonic() - start,
            cpu_seconds=children_cpu_seconds() - cpu,
        )

    def files(self, *others: Path) -> frozenset[str]:
        """All files of this machine, and those below other folders, but for locks of the tools."""
        found = (path for top in (self.folder, *others) for path in top.rglob("*"))
        return frozenset(str(p) for p in found if p.is_file() and p.name not in _LOCKS)


def children_cpu_seconds() -> float:
    """The processor time of all children that ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@functools.cache
def without_network() -> tuple[str, ...]:
    """What to put before a command to cut it off; nothing where the system does not allow it."""
    unshare = shutil.which("unshare")
    if unshare is None:
        return ()
    command = (unshare, "--map-root-user", "--net", "--")
    allowed = subprocess.run([*command, sys.executable, "-c", ""], capture_output=True, check=False)  # noqa: S603
    return command if allowed.returncode == 0 else ()


@functools.cache
def rust_program(name: str) -> str | None:
    """The real program behind rustup's stand-in, which would look for its toolchain in HOME."""
    rustc = shutil.which("rustc")
    if rustc is None:
        return None
    sysroot = subprocess.run(  # noqa: S603 - the rustc of this machine
        [rustc, "--print", "sysroot"], capture_output=True, text=True, check=False
    ).stdout.strip()
    return shutil.which(f"{sysroot}/bin/{name}") or shutil.which(name)


@functools.cache
def uv_program() -> str:
    """The uv that is installed beside the tests."""
    from uv import find_uv_bin

    return find_uv_bin()


def uv(*arguments: str) -> None:
    """Run uv."""
    subprocess.run([uv_program(), *arguments], check=True)  # noqa: S603 - the uv beside the tests


def write_tree(folder: Path, files: dict[str, str]) -> Path:
    """Write text files below a folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
    return folder


def tiny_crate(
    folder: Path,
    rust_version: str = "1.60",
    requires: Iterable[str] = ("daisy-build",),
    extra: str = "",
) -> Path:
    """A program of one line, built by daisy-build from an index."""
    return write_tree(
        folder,
        {
            "pyproject.toml": f"""\
                [build-system]
                requires = [{", ".join(f'"{name}"' for name in requires)}]
                build-backend = "daisy_build"

                [project]
                name = "tiny-crate"
                version = "1.0"

                [tool.maturin]
                bindings = "bin"
                """
            + textwrap.indent(textwrap.dedent(extra), " " * 16),
            "Cargo.toml": f"""\
                [package]
                name = "tiny-crate"
                version = "1.0.0"
                edition = "2021"
                rust-version = "{rust_version}"

                [workspace]
                """,
            "src/main.rs": 'fn main() { println!("tiny"); }\n',
        },
    )


@pytest.fixture
def machine(tmp_path: Path, wheelhouse: Path) -> Machine:
    """A machine with an empty PATH."""
    folder = tmp_path / "machine"
    folder.mkdir()
    return Machine(folder, wheelhouse)


@pytest.fixture(scope="session")
def wheelhouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with wheels of maturin and of this daisy-build: the only index there is."""
    from importlib.metadata import version

    folder = tmp_path_factory.mktemp("wheelhouse")
    pip: Sequence[str] = (sys.executable, "-m", "pip", "-q")
    subprocess.run(  # noqa: S603 - the pip beside the tests
        [*pip, "download", "--no-deps", f"maturin=={version('maturin')}", "-d", str(folder)],
        check=True,
    )
    subprocess.run(  # noqa: S603 - the pip beside the tests
        [*pip, "wheel", "--no-deps", "--no-build-isolation", str(PACKAGE), "-w", str(folder)],
        check=True,
    )
    return folder


@pytest.fixture(scope="session")
def daisy_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the files of this repository, as a fresh clone has them."""
    git = shutil.which("git")
    assert git is not None
    folder = tmp_path_factory.mktemp("clone")
    listed = subprocess.run(  # noqa: S603 - the git of this machine
        [git, "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, text=True, check=True
    ).stdout
    for name in listed.split("\0"):
        source = REPOSITORY / name
        if name and source.is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, folder / name)
    return folder


def plain(text: str, machine: Machine) -> str:
    """A message without the paths of this run, and without the folds that their length makes."""
    unfolded = re.sub(r"\n {5,7}(?=[^ |])(?!Looked for|Fix)", " ", re.sub(r"\s+\[", "  [", text))
    return unfolded.replace(str(machine.folder), "<machine>")
