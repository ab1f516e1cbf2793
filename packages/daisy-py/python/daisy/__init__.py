"""daisy runs a function over every block of a volume that does not fit in memory.

>>> import daisy
>>> total, block = daisy.Roi((0, 0), (8, 8)), daisy.Roi((0, 0), (4, 4))
>>> seen = []
>>> task = daisy.Task("example", total, block, block, lambda block: seen.append(block.block_id))
>>> result = daisy.run_blockwise(task, multiprocessing=False, progress=False, summary=False)
>>> bool(result), len(seen)
(True, 4)
"""

from __future__ import annotations

import importlib

from daisy._mixed import refuse_mixed_files

# Before anything else is imported, which might not be ours.
refuse_mixed_files(__path__[0])

from daisy._core import __version__  # noqa: E402 - see above

# Not typing's: importing that takes a third of the time that importing daisy takes.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from funlib.geometry import Coordinate, Roi

    from daisy import errors as errors
    from daisy import launchers as launchers
    from daisy import logging
    from daisy._block import profile_block
    from daisy._block_status import BlockStatus
    from daisy._client import Client
    from daisy._context import Context
    from daisy._core import Block, BlockStats, BlockwiseDependencyGraph, TaskState
    from daisy._errors import DaisyError, RunFailed
    from daisy._graph import DependencyGraph, Scheduler
    from daisy._pipeline import Pipeline
    from daisy._plan import plan
    from daisy._progress import JsonProgressObserver
    from daisy._result import RunResult
    from daisy._run import run_blockwise
    from daisy._server import Server
    from daisy._task import Task
    from daisy._tracking import get_tracking_basedir, set_tracking_basedir
    from daisy.logging import get_worker_log_basename

__all__ = [
    "Block",
    "BlockStats",
    "BlockStatus",
    "BlockwiseDependencyGraph",
    "Client",
    "Context",
    "Coordinate",
    "DaisyError",
    "DependencyGraph",
    "JsonProgressObserver",
    "Pipeline",
    "Roi",
    "RunFailed",
    "RunResult",
    "Scheduler",
    "SerialServer",
    "Server",
    "Task",
    "TaskState",
    "__version__",
    "get_done_marker_basedir",
    "get_tracking_basedir",
    "get_worker_log_basename",
    "logging",
    "plan",
    "profile_block",
    "run_blockwise",
    "set_done_marker_basedir",
    "set_tracking_basedir",
]

# Where each public name lives. Nothing is imported before it is asked for: a worker needs few of them.
_HOMES = {
    "Block": "daisy._core",
    "BlockStats": "daisy._core",
    "BlockStatus": "daisy._block_status",
    "BlockwiseDependencyGraph": "daisy._core",
    "Client": "daisy._client",
    "Context": "daisy._context",
    "Coordinate": "funlib.geometry",
    "DaisyError": "daisy._errors",
    "DependencyGraph": "daisy._graph",
    "JsonProgressObserver": "daisy._progress",
    "Pipeline": "daisy._pipeline",
    "Roi": "funlib.geometry",
    "RunFailed": "daisy._errors",
    "RunResult": "daisy._result",
    "Scheduler": "daisy._graph",
    "Server": "daisy._server",
    "Task": "daisy._task",
    "TaskState": "daisy._core",
    "get_tracking_basedir": "daisy._tracking",
    "get_worker_log_basename": "daisy.logging",
    "plan": "daisy._plan",
    "profile_block": "daisy._block",
    "run_blockwise": "daisy._run",
    "set_tracking_basedir": "daisy._tracking",
}

# Modules of daisy 1.x, such as daisy.client, lie apart from those of today.
__path__.append(f"{__path__[0]}/_v1")

_MODULES = frozenset({"errors", "launchers", "logging", "testing"})

# Spellings of daisy 1.x and former names of 2.0.0.
_FORMER_MODULES = frozenset(
    {
        "block",
        "blocks",
        "cl_monitor",
        "client",
        "context",
        "convenience",
        "coordinate",
        "dependency_graph",
        "freezable",
        "roi",
        "scheduler",
        "serial_server",
        "server",
        "server_observer",
        "task",
        "task_state",
        "v1_compat",
        "v2",
        "worker",
        "worker_pool",
    }
)
_FORMER = frozenset(
    {
        "SerialServer",
        "Worker",
        "WorkerPool",
        "expand_roi_to_grid",
        "expand_write_roi_to_grid",
        "get_done_marker_basedir",
        "redirect_stdouterr",
        "set_done_marker_basedir",
    }
)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
    elif name in _MODULES or name in _FORMER_MODULES:
        value = importlib.import_module(f"daisy.{name}")
    elif name in _FORMER:
        return importlib.import_module("daisy._compat").former_name(name)
    else:
        raise AttributeError(f"module 'daisy' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
