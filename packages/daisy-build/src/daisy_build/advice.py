"""The one command that helps, by what is missing and by platform.

A table, not logic: whoever knows a platform better changes a line here.
"""

from __future__ import annotations

from collections.abc import Mapping

from daisy_build.platforms import Platform

__all__ = ["compiler", "install_rust", "on_path", "package", "target_library", "update_rust"]

_RUSTUP = "curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh"

# rustup wherever the distribution's own Rust is often too old: it needs no administrator either.
_RUST = {
    "alpine": "{sudo}apk add cargo",
    "any": "install Rust from https://rustup.rs",
    "arch": "{sudo}pacman -S rust",
    "conda": "conda install -c conda-forge rust",
    "homebrew": "brew install rust",
    "linux": f"{_RUSTUP}  (then open a new shell)",
    "macos": f"{_RUSTUP}  (then open a new shell)",
    "windows": "winget install Rustlang.Rustup  (then open a new terminal)",
}
_NEWER_RUST = {
    "alpine": _RUST["linux"],
    "any": _RUST["any"],
    "arch": "{sudo}pacman -Syu rust",
    "conda": "conda update -c conda-forge rust",
    "homebrew": "brew upgrade rust",
    "linux": _RUST["linux"],
    "macos": _RUST["macos"],
    "windows": _RUST["windows"],
}
_COMPILER = {
    "alpine": "{sudo}apk add build-base",
    "any": "install a C compiler with its linker and C library headers, so that `cc` works",
    "arch": "{sudo}pacman -S base-devel",
    "debian": "{sudo}apt-get install build-essential",
    "fedora": "{sudo}dnf install gcc glibc-devel",
    "linux-conda": "conda install -c conda-forge c-compiler  (then activate the environment again)",
    "macos": "xcode-select --install",
    "suse": "{sudo}zypper install gcc glibc-devel",
    "windows": (
        "winget install Microsoft.VisualStudio.2022.BuildTools --override "
        '"--passive --wait --add Microsoft.VisualStudio.Workload.VCTools --includeRecommended"'
    ),
}
_INSTALL = {
    "alpine": "{sudo}apk add {package}",
    "any": "install {package} and put it on PATH",
    "arch": "{sudo}pacman -S {package}",
    "conda": "conda install -c conda-forge {package}",
    "debian": "{sudo}apt-get install {package}",
    "fedora": "{sudo}dnf install {package}",
    "homebrew": "brew install {package}",
    "suse": "{sudo}zypper install {package}",
    "windows": "winget install {package}",
}
# Names of packages that differ from that of the tool; a project may add its own in pyproject.toml.
_PACKAGES: dict[str, dict[str, str]] = {
    "cmake": {"windows": "Kitware.CMake"},
    "nasm": {"windows": "NASM.NASM"},
    "ninja": {"debian": "ninja-build", "fedora": "ninja-build", "windows": "Ninja-build.Ninja"},
    "perl": {"windows": "StrawberryPerl.StrawberryPerl"},
    "pkg-config": {"alpine": "pkgconf", "arch": "pkgconf", "fedora": "pkgconf-pkg-config"},
    "protoc": {
        "arch": "protobuf",
        "conda": "libprotobuf",
        "debian": "protobuf-compiler",
        "fedora": "protobuf-compiler",
        "homebrew": "protobuf",
        "suse": "protobuf-devel",
        "windows": "Google.Protobuf",
    },
    "zlib.h": {
        "alpine": "zlib-dev",
        "conda": "zlib",
        "debian": "zlib1g-dev",
        "fedora": "zlib-devel",
        "homebrew": "zlib",
        "suse": "zlib-devel",
    },
}


def install_rust(platform: Platform) -> str:
    """How to get cargo and rustc."""
    return _pick(_RUST, platform)


def update_rust(platform: Platform) -> str:
    """How to get a newer rustc where it is not rustup's."""
    return _pick(_NEWER_RUST, platform)


def compiler(platform: Platform) -> str:
    """How to get something that links."""
    return _pick(_COMPILER, platform)


def target_library(platform: Platform, target: str, *, rustup: bool) -> str:
    """How to get the standard library of another target."""
    if rustup:
        return f"rustup target add {target}"
    if platform.conda:
        return f"conda install -c conda-forge rust-std-{target}"
    return f"install Rust from https://rustup.rs, then: rustup target add {target}"


def on_path(platform: Platform, folder: str) -> str:
    """How to put a folder on PATH."""
    if platform.system == "windows":
        return f'$env:Path = "{folder};" + $env:Path'
    return f'export PATH="{folder}:$PATH"'


def package(platform: Platform, name: str, names: Mapping[str, str], *, is_header: bool) -> str:
    """How to get a tool or a header, under the name that its package has here."""
    known = {**_PACKAGES.get(name, {}), **names}
    # A header is never the name of a package, so without a known one it is only described.
    fallback = known.get("any", "" if is_header else name)
    for family in platform.families:
        here = known.get(family, fallback)
        if here and family in _INSTALL and family != "any":
            return _fill(_INSTALL[family], platform, here)
    if is_header:
        return f"install the development package that has {name}"
    return _fill(_INSTALL["any"], platform, name)


def _pick(table: Mapping[str, str], platform: Platform) -> str:
    text = next(table[family] for family in platform.families if family in table)
    return _fill(text, platform)


def _fill(text: str, platform: Platform, package_name: str = "") -> str:
    sudo = "" if platform.root else "sudo "
    return text.replace("{sudo}", sudo).replace("{package}", package_name)
