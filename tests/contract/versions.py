"""There is one version, and what is said about it agrees."""

from __future__ import annotations

import re

import yaml

from contract.repository import Repository


def version(repository: Repository) -> str:
    """Return the version of the workspace, the source of all others."""
    return str(repository.toml("Cargo.toml")["workspace"]["package"]["version"])


def released(repository: Repository) -> list[str]:
    """Return the versions that the changelog has a heading for, newest first."""
    text = (repository.root / "CHANGELOG.md").read_text(encoding="utf-8")
    return re.findall(r"^## \[?v?(\d[\w.+-]*)", text, flags=re.MULTILINE)


def fragments(repository: Repository) -> list[str]:
    """Return the names of the fragments that wait for the next release."""
    found = [path.name for path in repository.named(r"changes/[^/]+\.md")]
    return [name for name in found if name != "README.md"]


def check_versions_agree(repository: Repository) -> list[str]:
    """Return every place that says another version than the workspace."""
    wanted = version(repository)
    said = {
        "packages/daisy-build/pyproject.toml": repository.toml(
            "packages/daisy-build/pyproject.toml"
        )["project"].get("version"),
        "CITATION.cff": yaml.safe_load((repository.root / "CITATION.cff").read_text())["version"],
    }
    for package in repository.toml("Cargo.lock")["package"]:
        if package["name"].startswith("daisy-"):
            said[f"Cargo.lock ({package['name']})"] = package["version"]
    faults = [
        f"{where}: version {got}, expected {wanted}" for where, got in said.items() if got != wanted
    ]
    for crate in ("daisy-core", "daisy-py"):
        inherits = repository.toml(f"packages/{crate}/Cargo.toml")["package"]["version"]
        if inherits != {"workspace": True}:
            faults.append(
                f"packages/{crate}/Cargo.toml: version {inherits}, expected the workspace's"
            )
    if "version" not in repository.toml("pyproject.toml")["project"].get("dynamic", []):
        faults.append("pyproject.toml: the version is not dynamic, expected Cargo's")
    return faults


def check_changelog(repository: Repository) -> list[str]:
    """Return what is wrong between the changelog, its fragments and the version."""
    faults = []
    kinds = {
        kind["directory"] for kind in repository.toml("pyproject.toml")["tool"]["towncrier"]["type"]
    }
    for name in fragments(repository):
        if not re.fullmatch(rf"(\d+|\+[\w-]+)\.({'|'.join(sorted(kinds))})(\.\d+)?\.md", name):
            faults.append(f"changes/{name}: expected ISSUE.KIND.md with KIND of {sorted(kinds)}")
    newest = released(repository)[:1]
    if not fragments(repository) and newest != [version(repository)]:
        faults.append(
            f"CHANGELOG.md: newest heading {newest}, expected {version(repository)}, "
            "or a fragment in changes/ that waits for it"
        )
    return faults
