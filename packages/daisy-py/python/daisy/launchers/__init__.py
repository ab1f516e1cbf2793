"""How workers start.

A launcher is loaded by name: ``process``, ``thread``, ``slurm``, ``lsf``, ``pbs``, ``sge``, ``dask`` and ``ray`` are
built in, others are entry points of the group ``daisy.launchers``. An object passed as ``Task(launcher=...)`` is used
as it is: ``Slurm(partition="gpu")``, or your own.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from daisy.launchers._protocol import (
    Caps,
    Handle,
    Launcher,
    RunContext,
    State,
    Status,
    WorkerSpec,
)
from daisy.launchers._registry import load

if TYPE_CHECKING:
    from daisy.launchers.dask import Dask
    from daisy.launchers.grid_engine import GridEngine
    from daisy.launchers.lsf import Lsf
    from daisy.launchers.pbs import Pbs
    from daisy.launchers.ray import Ray
    from daisy.launchers.slurm import Slurm

_ENGINES = {
    "Dask": "dask",
    "GridEngine": "grid_engine",
    "Lsf": "lsf",
    "Pbs": "pbs",
    "Ray": "ray",
    "Slurm": "slurm",
}

__all__ = [
    "Caps",
    "Dask",
    "GridEngine",
    "Handle",
    "Launcher",
    "Lsf",
    "Pbs",
    "Ray",
    "RunContext",
    "Slurm",
    "State",
    "Status",
    "WorkerSpec",
    "load",
]


def __getattr__(name: str) -> Any:
    """The launchers of engines, imported when they are asked for."""
    if name in _ENGINES:
        return getattr(importlib.import_module(f"daisy.launchers.{_ENGINES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
