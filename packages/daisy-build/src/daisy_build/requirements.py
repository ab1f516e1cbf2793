"""What a project requires beyond Rust: `[[tool.daisy-build.require]]` in pyproject.toml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from daisy_build.manifest import parse_version

__all__ = ["Requirement", "SettingsError", "read_requirements", "read_wanted_checks"]

_KEYS = {
    "tool": str,
    "header": str,
    "at-least": str,
    "version-command": list,
    "for": str,
    "fix": str,
    "packages": dict,
}


class SettingsError(ValueError):
    """`[tool.daisy-build]` says something that has no meaning."""


@dataclass(frozen=True)
class Requirement:
    """A program on PATH, or a header of the C compiler.

    Attributes:
        name: The program, or the header as written in an `#include`.
        header: Whether it is a header.
        at_least: The oldest version that will do; empty for any.
        version_command: How the program is asked for its version.
        reason: What needs it.
        fix: Overrides the advice of this package.
        packages: Name of the package by family of platform, where it is not the known one.
    """

    name: str
    header: bool = False
    at_least: str = ""
    version_command: tuple[str, ...] = ()
    reason: str = ""
    fix: str = ""
    packages: Mapping[str, str] = field(default_factory=dict)


def read_requirements(settings: Mapping[str, Any]) -> tuple[Requirement, ...]:
    """Read the table.

    Raises:
        SettingsError: A key is unknown or its value is of the wrong kind.
    """
    unknown = sorted(set(settings) - {"checks", "require"})
    if unknown:
        raise SettingsError(f"[tool.daisy-build]: got {unknown[0]!r}, expected checks or require")
    entries = settings.get("require", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise SettingsError("[tool.daisy-build]: expected require as [[tool.daisy-build.require]]")
    return tuple(_requirement(entry) for entry in entries)


def read_wanted_checks(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """Read `checks`: plug-ins to load although their distribution is not in build-system.requires.

    Raises:
        SettingsError: It is not a list of names.
    """
    names = settings.get("checks", [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise SettingsError(f"[tool.daisy-build]: got checks = {names!r}, expected a list of names")
    return tuple(names)


def _requirement(entry: Mapping[str, Any]) -> Requirement:
    where = "[[tool.daisy-build.require]]"
    for key, value in entry.items():
        kind = _KEYS.get(key)
        if kind is None:
            expected = ", ".join(_KEYS)
            raise SettingsError(f"{where}: got {key!r}, expected one of {expected}")
        if not isinstance(value, kind):
            raise SettingsError(f"{where}: got {key} = {value!r}, expected a {kind.__name__}")
    if ("tool" in entry) == ("header" in entry):
        raise SettingsError(f"{where}: expected exactly one of tool and header")
    name = entry.get("tool") or entry.get("header")
    at_least = entry.get("at-least", "")
    if at_least and parse_version(at_least) is None:
        raise SettingsError(f"{where}: got at-least = {at_least!r}, expected a version like '3.20'")
    if not name:
        raise SettingsError(f"{where}: got an empty name")
    return Requirement(
        name=name,
        header="header" in entry,
        at_least=at_least,
        version_command=tuple(str(w) for w in entry.get("version-command", [name, "--version"])),
        reason=entry.get("for", ""),
        fix=entry.get("fix", ""),
        packages={str(k): str(v) for k, v in entry.get("packages", {}).items()},
    )
