"""How workers start.

A launcher is loaded by name: ``process`` and ``thread`` are built in, others are entry points of the group
``daisy.launchers``. An object that is passed as ``Task(launcher=...)`` is used as it is.
"""

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

__all__ = ["Caps", "Handle", "Launcher", "RunContext", "State", "Status", "WorkerSpec", "load"]
