"""The report of runs that left none, because they go on or were killed: made from their tracking stores.

It has the form of every other, with these differences: ``source`` is ``"stores"``; ``wall_seconds`` and ``history``
are None, ``workers`` and ``errors`` are empty, since nothing of the kind is kept in a store; times and measurements
are over all runs on the store; ``counts`` have ``not_done`` besides; ``state`` of a task is ``done``, ``running`` (its
lock names a process that may be alive) or ``stopped``; ``store`` is where it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from daisy import _core
from daisy._report.facts import SCHEMA, STATE_NAMES, now, packed
from daisy._tracking import host_name

_LEVELS = 3
_MOST_STORES = 1000


def find(folder: Path) -> list[Path]:
    """The stores in a folder: it itself, or those up to three levels below it."""
    found: list[Path] = []
    level = [folder]
    for _ in range(_LEVELS + 1):
        stores = [path for path in level if _is_store(path)]
        found += stores
        others = (path for path in level if path not in stores)
        level = [below for path in others for below in _folders(path)]
        if len(found) + len(level) > _MOST_STORES:
            break
    return found[:_MOST_STORES]


def _folders(folder: Path) -> list[Path]:
    try:
        # What has a zarr.json is an array, or somebody's group of many chunks: nothing to look for.
        if (folder / "zarr.json").exists():
            return []
        return sorted(path for path in folder.iterdir() if path.is_dir() and not path.is_symlink())
    except OSError:
        return []


def _is_store(folder: Path) -> bool:
    try:
        document = json.loads((folder / "zarr.json").read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(document, dict) and "daisy" in document.get("attributes", {})


def build(paths: Iterable[Path]) -> dict[str, Any] | None:
    """The report of these stores; None if none of them is one.

    Raises:
        StoreError: One that cannot be read.
    """
    tasks = [task for task in map(_task, paths) if task is not None]
    if not tasks:
        return None
    runs = [task.pop("run") for task in tasks]
    latest = max(runs, key=lambda run: str(run.get("since", "")))
    return {
        "schema": SCHEMA,
        "source": "stores",
        "daisy_version": _core.__version__,
        "created": now().isoformat(timespec="seconds"),
        "started": latest.get("since"),
        "wall_seconds": None,
        "succeeded": all(task["state"] == "done" for task in tasks),
        "cancelled": False,
        "settings": {
            **(latest.get("settings") or {}).get("run", {}),
            "last run": _show(latest),
        },
        "state_names": STATE_NAMES,
        "tasks": tasks,
        "history_tasks": [],
        "errors": [],
        "history": None,
    }


def _show(run: Mapping[str, Any]) -> str | None:
    if not run:
        return None
    return f"process {run.get('pid')} on {run.get('host')} since {run.get('since')}"


def _task(path: Path) -> dict[str, Any] | None:
    inspected = _core.inspect_tracking(path, host_name())
    if inspected is None:
        return None
    text, states, seconds = inspected
    facts: dict[str, Any] = json.loads(text)
    geometry = facts["attributes"]["daisy"]
    run = facts["attributes"].get("daisy_run") or {}
    times = facts["seconds"]
    whole = facts["done"] + facts["masked"] == facts["total"]
    return {
        "task_id": geometry["task"],
        "store": str(path),
        "state": "done" if whole else "running" if facts["is_held"] else "stopped",
        "reason": None if whole or not facts["holder"] else _holder(facts),
        "counts": {
            "total": facts["total"],
            "completed": facts["done"],
            "skipped": facts["masked"],
            "failed": facts["failed"],
            "orphaned": 0,
            "not_done": facts["total"] - facts["done"] - facts["masked"] - facts["failed"],
            "processed": facts["done"] + facts["failed_attempts"],
            "failed_attempts": facts["failed_attempts"],
            "timeouts": None,
            "worker_restarts": None,
        },
        "time": {
            "mean": times["mean"],
            "median": times["median"],
            "p95": times["p95"],
            "longest": times["largest"],
            "slope": None,
            "busy": times["sum"],
            "histogram": times["histogram"],
            "straggler_count": None,
            "stragglers": [],
        },
        "measured": facts["measured"],
        "workers": [],
        "settings": (run.get("settings") or {}).get("task") or _settings(geometry, facts, path),
        "blocks": {
            "grid_shape": facts["grid_shape"],
            "states": packed(states),
            "seconds": packed(seconds),
        },
        "run": run,
    }


def _holder(facts: Mapping[str, Any]) -> str:
    if facts["is_held"]:
        return f"{facts['holder']} is working on it"
    return f"{facts['holder']} ended without releasing it: it was killed, or its machine went down"


def _settings(geometry: Mapping[str, Any], facts: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """What is known of a task whose store was made before stores kept settings."""
    return {
        **{name: geometry[name] for name in ("total_roi", "read_roi", "write_roi", "fit")},
        "block_grid_shape": facts["grid_shape"],
        "tracking_path": str(path),
    }


def as_text(report: Mapping[str, Any]) -> str:
    """What is done and what is not, a line a task."""
    rows = [("task", "state", "blocks", "done", "masked", "failed", "not done")]
    for task in report["tasks"]:
        counts = task["counts"]
        names = ("total", "completed", "skipped", "failed", "not_done")
        rows.append((task["task_id"], task["state"], *(str(counts[name]) for name in names)))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
