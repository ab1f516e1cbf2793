"""Which machine this is, as plain data, so that advice for any platform is tested on any other."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Platform", "detect_platform"]

# What `ID` and `ID_LIKE` of os-release say, and the family of package manager behind it.
_FAMILIES = {
    "alpine": "alpine",
    "arch": "arch",
    "centos": "fedora",
    "debian": "debian",
    "fedora": "fedora",
    "opensuse": "suse",
    "rhel": "fedora",
    "sles": "suse",
    "suse": "suse",
    "ubuntu": "debian",
}


@dataclass(frozen=True)
class Platform:
    """An operating system and what is installed on top of it.

    Attributes:
        system: `linux`, `macos`, `windows`, or Python's own name for another.
        os_ids: `ID` of os-release, followed by its `ID_LIKE`; empty elsewhere.
        conda: A conda environment is active.
        homebrew: `brew` is on PATH.
        root: The user may install packages without `sudo`.
    """

    system: str
    os_ids: tuple[str, ...] = ()
    conda: bool = False
    homebrew: bool = False
    root: bool = False

    @property
    def families(self) -> tuple[str, ...]:
        """Keys to look up advice by, the most particular first, `any` last."""
        names: list[str] = []
        if self.conda:
            names += [f"{self.system}-conda", "conda"]
        if self.homebrew:
            names.append("homebrew")
        names += [_FAMILIES[os_id] for os_id in self.os_ids if os_id in _FAMILIES]
        return (*dict.fromkeys([*names, self.system, "any"]),)


def detect_platform(environ: Mapping[str, str], which: Callable[[str], str | None]) -> Platform:
    """Describe the machine that this runs on."""
    system = {"darwin": "macos", "win32": "windows"}.get(sys.platform, sys.platform)
    return Platform(
        system=system,
        os_ids=read_os_ids() if system == "linux" else (),
        conda="CONDA_PREFIX" in environ,
        homebrew=system == "macos" and which("brew") is not None,
        root=hasattr(os, "geteuid") and os.geteuid() == 0,
    )


def read_os_ids(
    candidates: tuple[Path, ...] = (Path("/etc/os-release"), Path("/usr/lib/os-release")),
) -> tuple[str, ...]:
    """Read `ID` and `ID_LIKE` from the first os-release file there is."""
    for path in candidates:
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        values = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
        words = " ".join(values.get(key, "").strip("\"' ") for key in ("ID", "ID_LIKE"))
        return (*dict.fromkeys(words.split()),)
    return ()
