"""Launchers by name."""

from __future__ import annotations

from typing import cast

from daisy._errors import LauncherUnavailable
from daisy.launchers._protocol import Launcher

_GROUP = "daisy.launchers"
# Here and not only in the metadata, so that they work from a source tree that is not installed.
_BUILT_IN = {
    "process": "daisy.launchers._process:ProcessLauncher",
    "thread": "daisy.launchers._thread:ThreadLauncher",
    "slurm": "daisy.launchers.slurm:Slurm",
    "lsf": "daisy.launchers.lsf:Lsf",
    "pbs": "daisy.launchers.pbs:Pbs",
    "sge": "daisy.launchers.grid_engine:GridEngine",
    "dask": "daisy.launchers.dask:Dask",
    "ray": "daisy.launchers.ray:Ray",
}


def load(name: str) -> Launcher:
    """A new launcher of this name.

    Args:
        name: ``"process"``, ``"thread"``, ``"slurm"``, or that of a plugin.

    Returns:
        The launcher.

    Raises:
        LauncherUnavailable: If there is none, or it cannot be imported.

    >>> from daisy.launchers import load
    >>> load("process").caps.remote
    False
    """
    if name in _BUILT_IN:
        return _make(_BUILT_IN[name])
    from importlib.metadata import entry_points  # noqa: PLC0415 - slow, and only plugins need it

    known = entry_points(group=_GROUP)
    for point in known:
        if point.name == name:
            return _make(point.value)
    names = ", ".join(sorted({*_BUILT_IN, *(point.name for point in known)}))
    raise LauncherUnavailable(f"argument 'launcher': expected one of {names}, got {name!r}")


def _make(reference: str) -> Launcher:
    import importlib  # noqa: PLC0415 - beside the only use

    module, _, attribute = reference.partition(":")
    try:
        made = getattr(importlib.import_module(module), attribute)()
    except ImportError as error:
        raise LauncherUnavailable(
            f"the launcher {reference} cannot be imported: {error}"
        ) from error
    return cast("Launcher", made)
