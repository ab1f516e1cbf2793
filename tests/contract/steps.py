"""Run the `run:` steps of the workflows here, as GitHub would: `python -m contract.steps`.

A step takes part if it can run on Linux without a secret. The sessions that take minutes are not
run a second time: `.ci/run` runs each of them by the very same words, and a check compares. What is
left out, and why, stands in `LEFT_OUT`.
"""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from contract.release import check_release
from contract.repository import HERE, Repository
from contract.versions import version
from contract.workflows import commands, steps

# Commands of `.ci/run`, word for word; there they run once, here they would run twice.
IN_CI_RUN = (
    "nox -s tests",
    "nox -s backend",
    "nox -s demo",
    "nox -s lint",
    "nox -s typing",
    "nox -s stubs",
    "nox -s docs",
    "nox -s look",
    "nox -s build",
    "nox -s test_wheel -- dist",
    "nox -s test_sdist -- dist",
)

LEFT_OUT = {
    "nox -s workflows": "would call itself",
    "nox -s test_wheel -- wheelhouse": "needs what cibuildwheel builds; `-- dist` is the same step",
    "nox -s minimums": "minutes long: `nox -s minimums`",
    "nox -s engines": "minutes long, and installs engines: `nox -s engines`",
    "nox -s two_hosts": "needs root: `nox -s two_hosts`",
    "nox -s coverage": "minutes long: `nox -s coverage`",
}


def _part_run_here(script: str) -> str | None:
    """Return `script` without what runs elsewhere, or nothing."""
    parts = [part.strip() for part in script.split("&&")]
    kept = [part for part in parts if part not in IN_CI_RUN and part not in LEFT_OUT]
    return " && ".join(kept) or None


def _scripts(repository: Repository) -> dict[str, str]:
    """Return each different script that is run here, with the workflow it was first seen in."""
    found: dict[str, str] = {}
    for name, workflow in repository.workflows.items():
        for _, step in steps(workflow):
            if script := _part_run_here(step.get("run", "")):
                found.setdefault(script, name)
    return found


def check_steps_are_run_here(repository: Repository) -> list[str]:
    """Return the commands that neither `.ci/run` runs, nor this module, nor `LEFT_OUT` explains."""
    script = (repository.root / ".ci/run").read_text(encoding="utf-8")
    faults = [
        f".ci/run does not run `{command}`, on which contract.steps relies"
        for command in IN_CI_RUN
        if f"step '{command}'" not in script and f"&& {command}'" not in script
    ]
    named = {command for flow in repository.workflows.values() for _, command in commands(flow)}
    unknown = sorted((set(IN_CI_RUN) | set(LEFT_OUT)) - named)
    return faults + [f"no workflow runs `{command}` any more" for command in unknown]


def _stand_ins(folder: Path, repository: Repository) -> dict[str, str]:
    """Return what GitHub gives to a step: variables, and a `gh` that answers from a file."""
    gh = folder / "gh"
    gh.write_text(f"#!/bin/sh\necho '{json.dumps({'build_type': 'workflow'})}'\n")
    gh.chmod(gh.stat().st_mode | stat.S_IEXEC)
    return {
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
        "GITHUB_REPOSITORY": "daisy-blockwise/daisy",
        "GITHUB_REF_NAME": f"v{version(repository)}",
        "RESULTS": "success success",
        "PIP_QUIET": "1",
    }


def _expected(script: str, repository: Repository) -> bool:
    """Say whether `script` should succeed: between two releases nothing may be published."""
    releasable = not check_release(repository, f"v{version(repository)}")
    return releasable or "release_check" not in script


def main() -> int:
    """Run them all and return 1 if one did not end as it should."""
    repository = Repository(HERE)
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        env = os.environ | _stand_ins(Path(folder), repository)
        for script, name in _scripts(repository).items():
            begun = time.monotonic()
            shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
            ended = subprocess.run(shell, cwd=HERE, env=env, check=False)
            right = (ended.returncode == 0) == _expected(script, repository)
            wrong += not right
            seconds = time.monotonic() - begun
            verdict = "as it should" if right else "WRONG"
            print(
                f"{name}: `{script}` exit {ended.returncode}, {verdict}, {seconds:.1f} s",
                flush=True,
            )
    (HERE / "pages.json").unlink(missing_ok=True)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
