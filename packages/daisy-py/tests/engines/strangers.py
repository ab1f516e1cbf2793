"""Jobs that daisy did not submit, on every engine."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from daisy.launchers import GridEngine, Lsf, Pbs, Slurm


@dataclass(frozen=True)
class _Commands:
    submit: Sequence[str]
    show: Sequence[str]
    alive: str
    delete: str
    element: str


_COMMANDS = {
    Slurm: _Commands(
        submit=["sbatch", "--array=0-0", "--output=/dev/null", "--job-name=NAME"],
        show=["squeue", "--noheader", "--format=%F %T", "--jobs=JOB"],
        alive=r"PENDING|RUNNING",
        delete="scancel",
        element="{}_0",
    ),
    GridEngine: _Commands(
        submit=["qsub", "-terse", "-t", "1-1", "-o", "/dev/null", "-j", "y", "-N", "NAME"],
        show=["qstat", "-u", "*"],
        alive=r"(?m)^ *JOB ",
        delete="qdel",
        element="{}.1",
    ),
    Lsf: _Commands(
        submit=["bsub", "-o", "/dev/null", "-J", "NAME[1-1]"],
        show=["bjobs", "-a", "JOB"],
        alive=r"RUN|PEND",
        delete="bkill",
        element="{}[1]",
    ),
    Pbs: _Commands(
        submit=["qsub", "-o", "/dev/null", "-N", "NAME"],
        show=["qstat", "-x", "JOB"],
        alive=r'"job_state": "[QR]"',
        delete="qdel",
        element="{}.fake",
    ),
}


class Job:
    """A job of ten minutes.

    Args:
        launcher: The class of the launcher of its engine.
        name: Its name.
    """

    def __init__(self, launcher: Any, name: str) -> None:
        self._commands = _COMMANDS[launcher]
        argv = [argument.replace("NAME", name) for argument in self._commands.submit]
        found = re.search(r"\d+", _say(argv, "#!/bin/sh\nexec sleep 600\n"))
        assert found
        self.id = found[0]
        self.element = self._commands.element.format(self.id)

    def lives(self) -> bool:
        """Whether it waits or runs."""
        said = _say([argument.replace("JOB", self.id) for argument in self._commands.show])
        return re.search(self._commands.alive.replace("JOB", self.id), said) is not None

    def delete(self) -> None:
        """Take it away."""
        _say([self._commands.delete, self.id])


def _say(argv: Sequence[str], text: str = "") -> str:
    return subprocess.run(argv, input=text, capture_output=True, text=True, check=True).stdout
