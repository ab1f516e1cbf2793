"""What Cargo.toml says about the Rust that it needs."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["RustVersion", "Version", "parse_version", "required_rust"]

Version = tuple[int, ...]

# The first compiler that knows an edition: the floor where a project states no rust-version.
_EDITIONS = {"2018": "1.31", "2021": "1.56", "2024": "1.85"}


@dataclass(frozen=True)
class RustVersion:
    """The oldest rustc that a project accepts, and the line that says so."""

    text: str
    source: str

    @property
    def version(self) -> Version:
        """The version as numbers."""
        return parse_version(self.text) or ()


def parse_version(text: str) -> Version | None:
    """The first dotted number in a text, as three numbers or more; None when there is none."""
    match = re.search(r"\d+(?:\.\d+)+|\d+", text)
    if match is None:
        return None
    numbers = tuple(int(part) for part in match.group().split("."))
    return numbers + (0,) * (3 - len(numbers))


def required_rust(manifest: Path, root: Path) -> RustVersion | None:
    """Read `rust-version`, or what the edition implies, following `workspace = true`.

    A manifest that cannot be read states nothing here: cargo says better what is wrong with it.
    """
    package = _table(_load(manifest), "package")
    for key in ("rust-version", "edition"):
        value, source = package.get(key), manifest
        if isinstance(value, dict) and value.get("workspace") is True:
            source = _workspace_manifest(manifest, package)
            value = _table(_table(_load(source), "workspace"), "package").get(key)
        text = _EDITIONS.get(value) if key == "edition" and isinstance(value, str) else value
        if isinstance(text, str) and parse_version(text) is not None:
            return RustVersion(text, f'{key} = "{value}" in {_relative(source, root)}')
    return None


def _workspace_manifest(manifest: Path, package: dict[str, Any]) -> Path:
    if "workspace" in _load(manifest):
        return manifest
    named = package.get("workspace")
    if isinstance(named, str):
        return (manifest.parent / named / "Cargo.toml").resolve()
    for folder in manifest.resolve().parent.parents:
        candidate = folder / "Cargo.toml"
        if "workspace" in _load(candidate):
            return candidate
    return manifest


def _load(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _table(values: dict[str, Any], key: str) -> dict[str, Any]:
    value = values.get(key)
    return value if isinstance(value, dict) else {}


def _relative(path: Path, root: Path) -> str:
    try:
        return path.resolve().relative_to(root.resolve()).as_posix()
    except ValueError:
        return path.as_posix()
