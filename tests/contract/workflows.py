"""What a workflow names exists: jobs, inputs, artifacts; and it calls nox and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatch
from typing import Any

from contract.repository import Repository

# The only commands in workflows that are not nox; each needs GitHub, or is what installs nox.
PLUMBING = (
    r"python -m pip install nox",
    r'gh api "repos/\$GITHUB_REPOSITORY/pages" > pages\.json \|\| true',
    r"for result in \$RESULTS; do .*; done",
)


def steps(workflow: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each step of `workflow` with the name of its job."""
    for job, content in workflow["jobs"].items():
        for step in content.get("steps", []):
            yield job, step


def commands(workflow: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each command of each `run:` with the name of its job; a run may chain several."""
    for job, step in steps(workflow):
        script = step.get("run", "")
        whole = script.startswith("for ") or "||" in script
        for command in [script] if whole else re.split(r"&&|\n", script):
            if command.strip():
                yield job, command.strip()


def check_only_nox_is_called(repository: Repository) -> list[str]:
    """Return the commands that neither are nox nor stand in `PLUMBING`."""
    return [
        f"{name}: job {job} runs {command!r}, expected `nox -s SESSION`"
        for name, workflow in repository.workflows.items()
        for job, command in commands(workflow)
        if not re.match(r"nox -s \w", command)
        and not any(re.fullmatch(allowed, command) for allowed in PLUMBING)
    ]


def check_needs(repository: Repository) -> list[str]:
    """Return the `needs` that name no job, and jobs that an `all-green` gate forgets."""
    faults = []
    for name, workflow in repository.workflows.items():
        for job, content in workflow["jobs"].items():
            needs = content.get("needs", [])
            needs = [needs] if isinstance(needs, str) else needs
            missing = sorted(set(needs) - set(workflow["jobs"]))
            faults += [f"{name}: job {job} needs {need!r}, which is no job" for need in missing]
            if job == "all-green":
                forgotten = sorted(set(workflow["jobs"]) - {job} - set(needs))
                faults += [f"{name}: {job} does not wait for {other!r}" for other in forgotten]
    return faults


def check_reusable_workflows(repository: Repository) -> list[str]:
    """Return calls of workflows that are not there, or with inputs these do not have."""
    faults = []
    for name, workflow in repository.workflows.items():
        for job, content in workflow["jobs"].items():
            uses = content.get("uses", "")
            if not uses.startswith(("./", "$/")):
                continue
            called = repository.workflows.get(uses.rsplit("/", 1)[-1])
            if called is None or "workflow_call" not in called["on"]:
                faults.append(f"{name}: job {job} uses {uses}, which cannot be called")
                continue
            inputs = (called["on"]["workflow_call"] or {}).get("inputs", {})
            given = set(content.get("with", {}))
            needed = {key for key, value in inputs.items() if value.get("required")}
            faults += [
                f"{name}: {uses} has no input {key!r}" for key in sorted(given - set(inputs))
            ]
            faults += [f"{name}: {uses} needs the input {key!r}" for key in sorted(needed - given)]
    return faults


def _artifacts(workflow: dict[str, Any], action: str) -> Iterator[str]:
    for _, step in steps(workflow):
        if f"/{action}-artifact@" in step.get("uses", ""):
            named = step.get("with", {})
            yield re.sub(r"\$\{\{.*?\}\}", "*", named.get("name") or named.get("pattern") or "*")


def check_artifacts(repository: Repository) -> list[str]:
    """Return the artifacts that are downloaded but not uploaded, there or in a called workflow."""
    faults = []
    for name, workflow in repository.workflows.items():
        uploaded = list(_artifacts(workflow, "upload"))
        for content in workflow["jobs"].values():
            called = repository.workflows.get(content.get("uses", "").rsplit("/", 1)[-1], None)
            uploaded += _artifacts(called, "upload") if called else []
        faults += [
            f"{name}: downloads the artifact {wanted!r}, which nothing uploads"
            for wanted in _artifacts(workflow, "download")
            if not any(fnmatch(made, wanted) or fnmatch(wanted, made) for made in uploaded)
        ]
    return faults


def check_pins(repository: Repository) -> list[str]:
    """Return the actions that are not pinned by commit, and those pinned to two commits."""
    faults = []
    seen: dict[str, str] = {}
    for name, workflow in repository.workflows.items():
        for _, step in steps(workflow):
            action, _, pin = step.get("uses", "").partition("@")
            if not action or action == "pypa/gh-action-pypi-publish":
                continue
            if not re.fullmatch(r"[0-9a-f]{40}", pin):
                faults.append(f"{name}: {action} is pinned to {pin!r}, expected a commit")
            elif seen.setdefault(action, pin) != pin:
                faults.append(
                    f"{name}: {action} is pinned to {pin} here, to {seen[action]} elsewhere"
                )
    return faults


def check_publish_waits_for_the_tests(repository: Repository) -> list[str]:
    """Return the jobs that may publish without the wheels having been built and tested before."""
    faults = []
    for name, workflow in repository.workflows.items():
        jobs = workflow["jobs"]
        for job, content in jobs.items():
            uses = [step.get("uses", "") for step in content.get("steps", [])]
            if not any("pypi-publish" in action for action in uses):
                continue
            before = _ancestors(jobs, job)
            tested = any("wheels.yml" in jobs[other].get("uses", "") for other in before)
            checked = any("release_check" in str(jobs[other].get("steps")) for other in before)
            if not tested:
                faults.append(f"{name}: job {job} publishes without waiting for wheels.yml")
            if not checked:
                faults.append(f"{name}: job {job} publishes without release_check before it")
            if content.get("permissions") != {"id-token": "write"}:
                faults.append(f"{name}: job {job} wants more than id-token: write")
    return faults


def _ancestors(jobs: dict[str, Any], job: str) -> set[str]:
    found: set[str] = set()
    waiting = [job]
    while waiting:
        needs = jobs.get(waiting.pop(), {}).get("needs", [])
        new = set([needs] if isinstance(needs, str) else needs) & set(jobs) - found
        found |= new
        waiting += new
    return found


def check_minimum_rust(repository: Repository) -> list[str]:
    """Return the toolchains in workflows that are not the `rust-version` of the workspace."""
    wanted = repository.toml("Cargo.toml")["workspace"]["package"]["rust-version"]
    return [
        f"{name}: toolchain {step['with'].get('toolchain')!r}, expected rust-version {wanted!r}"
        for name, workflow in repository.workflows.items()
        for _, step in steps(workflow)
        if "rust-toolchain@" in step.get("uses", "") and step["with"].get("toolchain") != wanted
    ]
