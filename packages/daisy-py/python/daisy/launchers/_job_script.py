"""The script of an array job, and the files that it reads."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Sequence
from pathlib import Path

from daisy._settings import CONTEXT_VARIABLE, STARTED_VARIABLE
from daisy.launchers._protocol import WorkerSpec


class JobFiles:
    """Files in the folder of a run, which only this user can read, for the workers of its jobs.

    Several launchers of a run share that folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._payloads: dict[str, Path] = {}

    def payload(self, spec: WorkerSpec) -> Path:
        """The file that workers of the task read as their input."""
        if spec.task_id not in self._payloads:
            self._payloads[spec.task_id] = self._write("payload", spec.payload)
        return self._payloads[spec.task_id]

    def secrets(self, spec: WorkerSpec) -> Path | None:
        """A file that sets the secret variables, for engines that show the environment of a job to others."""
        if not spec.secret_env:
            return None
        lines = (f"export {name}={shlex.quote(text)}\n" for name, text in spec.secret_env.items())
        return self._write("secrets", "".join(lines).encode())

    def batch(self, spec: WorkerSpec, contexts: Sequence[str]) -> Path:
        """A file with a line for each worker: its id and its context."""
        lines = (
            f"{worker} {context}\n" for worker, context in zip(spec.workers, contexts, strict=True)
        )
        return self._write("batch", "".join(lines).encode())

    def _write(self, what: str, content: bytes) -> Path:
        descriptor, name = tempfile.mkstemp(prefix=f"{what}-", dir=self._folder)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        return Path(name)


def script(
    spec: WorkerSpec,
    *,
    batch: Path,
    payload: Path,
    secrets: Path | None,
    index: str,
    first_index: int,
    prologue: str,
    argv: Sequence[str],
) -> str:
    """The script: it finds out which worker it is, and becomes it.

    Nothing secret is in it: engines show scripts to others. The worker replaces the shell, since engines
    signal the process that they started and not its children.
    """
    lines = [
        "#!/bin/sh",
        f"# Workers of daisy for task {spec.task_id!r}".replace("\n", " "),
        f"batch={shlex.quote(str(batch))}",
        "# The folder of a run is removed at its end: then there is nothing to do.",
        '[ -r "$batch" ] || exit 0',
        f'line=$(sed -n "$(({index} - {first_index} + 1))p" "$batch")',
        "worker=${line%% *}",
        f"{CONTEXT_VARIABLE}=${{line#* }}",
        f"export {CONTEXT_VARIABLE}",
        f"{STARTED_VARIABLE}=$(date +%s)",
        f"export {STARTED_VARIABLE}",
    ]
    if spec.log_dir is not None and spec.log_mode != "console":
        lines += [
            f"log={shlex.quote(str(spec.log_dir.absolute()))}/worker_$worker",
            'if (: >>"$log.out") 2>/dev/null; then exec >>"$log.out" 2>>"$log.err"; fi',
        ]
    if secrets is not None:
        lines.append(f". {shlex.quote(str(secrets))}")
    lines += [f"export {name}={shlex.quote(value)}" for name, value in spec.env.items()]
    if prologue:
        lines.append(prologue)
    command = f'{shlex.join(argv)} "worker-$worker" {shlex.quote(spec.task_id)}'
    return "\n".join([*lines, f"exec {command} <{shlex.quote(str(payload))}", ""])
