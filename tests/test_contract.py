"""What the repository says about itself is true: groups, extras, versions, names and links."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_every_package_has_the_version_of_the_workspace() -> None:
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    backend = tomllib.loads((ROOT / "packages/daisy-build/pyproject.toml").read_text())
    assert backend["project"]["version"] == workspace
