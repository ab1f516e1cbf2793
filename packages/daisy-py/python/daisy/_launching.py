"""Which launcher starts the workers of a task, and with which command and environment.

Light: it is the first that a run with workers imports, so that what they are forked from starts beside the rest.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from daisy._settings import THREAD_VARIABLES
from daisy.launchers import Launcher, WorkerSpec, load
from daisy.worker import BOOTSTRAP

if TYPE_CHECKING:
    from daisy._task import Task


def launchers_of(tasks: Sequence[Task], *, worker_processes: bool) -> list[Launcher]:
    """One launcher per task; tasks that name the same one share it.

    Raises:
        LauncherUnavailable: There is none of that name.
    """
    by_name: dict[str, Launcher] = {}
    chosen: list[Launcher] = []
    for task in tasks:
        launcher = task.launcher
        if isinstance(launcher, str):
            name = "thread" if launcher == "process" and not worker_processes else launcher
            if name not in by_name:
                by_name[name] = load(name)
            launcher = by_name[name]
        chosen.append(launcher)
    return chosen


def prepare(tasks: Sequence[Task], launchers: Sequence[Launcher], undo: ExitStack) -> None:
    """Let launchers do ahead what takes them time, beside what takes time here.

    Args:
        tasks: All tasks of the run.
        launchers: The launcher of each.
        undo: Takes it back.
    """
    for launcher in dict.fromkeys(launchers):
        begin = getattr(launcher, "prepare", None)
        if begin is not None:
            task = tasks[launchers.index(launcher)]
            undo.callback(launcher.close)
            begin(
                WorkerSpec(
                    task.task_id, [], [], interpreter(), b"", env=environment_of(task, launcher)
                )
            )


def environment_of(task: Task, launcher: Launcher) -> dict[str, str]:
    """What workers of the task find set, besides what is set here."""
    return {} if launcher.caps.remote else _thread_limits(task)


def interpreter() -> list[str]:
    """A fresh interpreter with the flags of this one, which imports nothing from the current folder by itself."""
    flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    flags = [flag for flag in flags if flag != "-P"]
    return [sys.executable, *flags, "-P", "-c", BOOTSTRAP]


def _thread_limits(task: Task) -> dict[str, str]:
    """Threads of numerical libraries: the processors of this machine, shared by the workers."""
    if any(name in os.environ for name in THREAD_VARIABLES):
        return {}
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:
        cores = os.cpu_count() or 1
    threads = str(max(1, cores // max(1, task.max_workers)))
    return dict.fromkeys(THREAD_VARIABLES, threads)
