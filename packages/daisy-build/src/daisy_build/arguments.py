"""The arguments that the user gives to maturin, as far as they change what a build needs."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["MaturinArguments", "read_arguments"]

# maturin's own name for "both kinds of Mac"; rustc does not know it.
_UNIVERSAL = "universal2-apple-darwin"
_MAC_TARGETS = ("x86_64-apple-darwin", "aarch64-apple-darwin")


@dataclass(frozen=True)
class MaturinArguments:
    """What is to be built, and with what.

    Attributes:
        targets: Triples of `--target`, spelled as rustc knows them; empty means cargo's own choice.
        zig: The linker comes with zig, and no C compiler is needed.
        manifest: `--manifest-path`.
        cargo_config: Values of `--config`, which may name a linker.
    """

    targets: tuple[str, ...] = ()
    zig: bool = False
    manifest: str | None = None
    cargo_config: tuple[str, ...] = ()


def read_arguments(
    config_settings: Mapping[str, Any] | None, environ: Mapping[str, str]
) -> MaturinArguments:
    """Read config settings and environment in the order in which maturin does."""
    words = _words(config_settings, environ)
    # Only maturin's part: what follows `--` is for rustc.
    words = words[: words.index("--")] if "--" in words else words
    targets = _values(words, "--target")
    if not targets:
        targets = _mac_targets(environ.get("ARCHFLAGS", ""))
    manifests = _values(words, "--manifest-path", "-m")
    return MaturinArguments(
        targets=tuple(
            dict.fromkeys(
                name
                for target in targets
                for name in (_MAC_TARGETS if target == _UNIVERSAL else (target,))
            )
        ),
        zig="--zig" in words,
        manifest=manifests[-1] if manifests else None,
        cargo_config=tuple(_values(words, "--config")),
    )


def _words(config_settings: Mapping[str, Any] | None, environ: Mapping[str, str]) -> list[str]:
    settings = config_settings or {}
    given = settings.get("maturin.build-args", settings.get("build-args"))
    if given is None:
        given = environ.get("MATURIN_PEP517_ARGS", "")
    if isinstance(given, str):
        return shlex.split(given)
    return [str(word) for word in given] if isinstance(given, Iterable) else []


def _values(words: Sequence[str], *names: str) -> list[str]:
    values = []
    for index, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name in names and equals:
            values.append(value)
        elif word in names and index + 1 < len(words):
            values.append(words[index + 1])
    return values


def _mac_targets(archflags: str) -> list[str]:
    # The variable is Apple's; setuptools, cibuildwheel and maturin read it.
    wanted = _values(archflags.split(), "-arch")
    known = {"x86_64": _MAC_TARGETS[0], "arm64": _MAC_TARGETS[1]}
    return [known[name] for name in wanted if name in known]
