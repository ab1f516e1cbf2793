"""The project that is being built, read once."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from daisy_build.arguments import MaturinArguments, read_arguments
from daisy_build.manifest import RustVersion, required_rust

__all__ = ["Project", "normalize_name", "read_project"]


@dataclass(frozen=True)
class Project:
    """What the project's own files say.

    Attributes:
        root: The folder of pyproject.toml.
        name: The distribution.
        rust: The oldest rustc that will do, if the project states one.
        build_requires: Normalised names in `build-system.requires`.
        settings: `[tool.daisy-build]`, not yet looked at.
        arguments: What the user tells maturin.
    """

    root: Path
    name: str
    rust: RustVersion | None = None
    build_requires: frozenset[str] = frozenset()
    settings: Mapping[str, Any] = field(default_factory=dict)
    arguments: MaturinArguments = field(default_factory=MaturinArguments)


def read_project(
    root: Path, config_settings: Mapping[str, Any] | None, environ: Mapping[str, str]
) -> Project:
    """Read pyproject.toml and the Cargo.toml that maturin will use."""
    with (root / "pyproject.toml").open("rb") as file:
        pyproject = tomllib.load(file)
    build_system = pyproject.get("build-system", {})
    tools = pyproject.get("tool", {})
    arguments = read_arguments(config_settings, environ)
    manifest = arguments.manifest or tools.get("maturin", {}).get("manifest-path", "Cargo.toml")
    return Project(
        root=root,
        name=pyproject.get("project", {}).get("name", root.resolve().name),
        rust=required_rust(root / manifest, root),
        build_requires=frozenset(
            _requirement_name(line) for line in build_system.get("requires", [])
        ),
        settings=tools.get("daisy-build", {}),
        arguments=arguments,
    )


def normalize_name(name: str) -> str:
    """The one spelling of a distribution's name, as PEP 503 has it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _requirement_name(line: str) -> str:
    match = re.match(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)", line)
    return normalize_name(match.group(1)) if match else ""
