"""Names that ``daisy`` had before: which exist, and where they are."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from daisy._compat.grid import expand_roi_to_grid, expand_write_roi_to_grid
from daisy._compat.server import SerialServer
from daisy._compat.warn import warn_of_former
from daisy._compat.workers import Worker, WorkerPool


def set_done_marker_basedir(path: str | Path | None) -> None:
    """Former name of :func:`daisy.set_tracking_basedir`.

    Args:
        path: The folder.
    """
    from daisy._tracking import set_tracking_basedir  # noqa: PLC0415 - a floor below

    warn_of_former("set_done_marker_basedir()", "set_tracking_basedir()")
    set_tracking_basedir(path)


def get_done_marker_basedir() -> Path | None:
    """Former name of :func:`daisy.get_tracking_basedir`."""
    from daisy._tracking import get_tracking_basedir  # noqa: PLC0415 - a floor below

    warn_of_former("get_done_marker_basedir()", "get_tracking_basedir()")
    return get_tracking_basedir()


def redirect_stdouterr(basename: str | Path, mode: str = "w") -> None:
    """Send the output of this process to ``<basename>.out`` and ``<basename>.err`` (daisy 1.x).

    Args:
        basename: Path without ending; its folder is made.
        mode: How the files are opened: ``"w"`` or ``"a"``.
    """
    warn_of_former(
        "redirect_stdouterr()", "daisy.logging.set_log_basedir(), which does it for workers"
    )
    path = Path(basename)
    path.parent.mkdir(parents=True, exist_ok=True)
    # They stay open as long as the process does: they are its output.
    sys.stdout = open(f"{path}.out", mode, encoding="utf-8", buffering=1)
    sys.stderr = open(f"{path}.err", mode, encoding="utf-8", buffering=1)


_FORMER: dict[str, Any] = {
    "SerialServer": SerialServer,
    "Worker": Worker,
    "WorkerPool": WorkerPool,
    "expand_roi_to_grid": expand_roi_to_grid,
    "expand_write_roi_to_grid": expand_write_roi_to_grid,
    "get_done_marker_basedir": get_done_marker_basedir,
    "redirect_stdouterr": redirect_stdouterr,
    "set_done_marker_basedir": set_done_marker_basedir,
}


def former_name(name: str) -> Any:
    """What ``daisy.<name>`` is; it warns when it is called."""
    return _FORMER[name]
