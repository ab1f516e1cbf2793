"""A place to build daisy-py in as a user would: no network, no `cc`, and maturin alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

__all__ = ["REPOSITORY", "Bench", "tracked_files"]

REPOSITORY = Path(__file__).resolve().parents[1]
BUILD_TOOLS = ("ld", "as", "ar")


def _run(*command: str, folder: Path = REPOSITORY) -> str:
    """Run a command to its end and return what it prints."""
    return subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=True).stdout


def tracked_files(folder: str = ".") -> list[str]:
    """Return the files of the repository that git knows and that are there."""
    listed = _run(shutil.which("git") or "git", "ls-files", "-z", folder).split("\0")
    return [name for name in listed if name and (REPOSITORY / name).is_file()]


@dataclass
class Bench:
    """Folders, and an environment in which nothing else is reached.

    `clone` holds the files of the repository as a fresh clone has them, `dist` what is built.
    """

    folder: Path
    environ: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Lay out the folders; the only step with a network fetches maturin and the crates."""
        for name in ("bin", "clone", "dist", "wheels"):
            (self.folder / name).mkdir()
        for name in tracked_files():
            (self.clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(REPOSITORY / name, self.clone / name)
        maturin = f"maturin=={version('maturin')}"
        pip = (sys.executable, "-m", "pip", "-q")
        _run(*pip, "download", "--no-deps", "-d", str(self.folder / "wheels"), maturin)
        _run("cargo", "fetch", "--locked", "--quiet", folder=self.clone)

        sysroot = Path(_run("rustc", "--print", "sysroot").strip())
        self._offer("cargo", sysroot / "bin" / "cargo")
        self._offer("rustc", sysroot / "bin" / "rustc")
        for tool in BUILD_TOOLS:
            self._offer(tool, Path(shutil.which(tool) or tool))
        target = os.environ.get("CARGO_TARGET_DIR") or self.folder / "target"
        self.environ = {
            "PATH": str(self.folder / "bin"),
            "HOME": str(self.folder),
            "CARGO_HOME": os.environ.get("CARGO_HOME") or str(Path.home() / ".cargo"),
            "CARGO_NET_OFFLINE": "true",
            "CARGO_TARGET_DIR": str(target),
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_FIND_LINKS": str(self.folder / "wheels"),
            "PIP_NO_INDEX": "1",
            "HTTPS_PROXY": "http://127.0.0.1:9",
        }

    @property
    def clone(self) -> Path:
        """A fresh clone."""
        return self.folder / "clone"

    @property
    def dist(self) -> Path:
        """Where wheels and sdists go."""
        return self.folder / "dist"

    def offer_gcc(self) -> None:
        """Add a compiler, under a name that rustc does not look for."""
        self._offer("gcc", Path(shutil.which("cc") or "cc"))

    def build(self, *command: str) -> str:
        """Run a module of this Python cut off from everything, and return what it says."""
        ended = subprocess.run(
            [*_without_network(), sys.executable, "-m", *command],
            cwd=self.folder,
            env=self.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, ended.stdout
        return ended.stdout

    def _offer(self, name: str, program: Path) -> None:
        (self.folder / "bin" / name).symlink_to(program)


def _without_network() -> list[str]:
    """Return what cuts a command off; nothing where the system does not allow it."""
    unshare = shutil.which("unshare")
    if unshare is None:
        return []
    command = [unshare, "--map-root-user", "--net", "--"]
    allowed = subprocess.run([*command, sys.executable, "-c", ""], capture_output=True, check=False)
    return command if allowed.returncode == 0 else []
