"""What is reported of a run.

The dictionary, and the JSON document made of it:

``schema``
    Name and version of this form: ``daisy-report/1``.
``source``
    ``run``, or ``stores`` if it was made of tracking stores because the run left no report; then see
    :mod:`daisy._report.stores`.
``daisy_version``, ``created``, ``wall_seconds``, ``succeeded``, ``cancelled``
    The run as a whole; ``created`` is when it ended, in UTC.
``settings``
    What the run was asked for: resources, host, python, platform.
``tasks``
    In the order in which data flows: ``task_id``, ``state`` (``done``, ``running`` if the run was stopped,
    ``abandoned``), ``reason``, ``counts``, ``time``, ``measured``, ``workers``, ``settings`` and ``blocks``. In
    ``blocks`` are ``grid_shape`` and, for tasks that are not too large, ``states`` (a byte per block, see
    ``state_names``) and ``seconds`` (a little-endian 32-bit float per block), both row-major and base64.
``state_names``
    Meaning of the bytes.
``errors``
    Grouped: ``task_id``, ``summary``, ``count``, ``traceback``, ``block_ids``.
``history``
    What happened when; see ``docs/design/RUN_STATS.md``. Tasks are positions in ``history_tasks``.
"""

from __future__ import annotations

import base64
import json
import platform
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from daisy import _core

if TYPE_CHECKING:
    from daisy._result import RunResult
    from daisy._task import Task

SCHEMA = "daisy-report/1"
REPORT_FILE = "report.json"
"""Name of the file that a run leaves beside the logs of its workers."""

STATE_NAMES = ["not run", "completed", "done before", "masked", "found done", "failed", "orphaned"]


def build(result: RunResult) -> dict[str, Any]:
    """The report of a run."""
    report = _without_history(result)
    report["history"] = json.loads(result._outcome.history())
    return report


def to_json(result: RunResult) -> str:
    """The report as JSON; the history, which is long, is not parsed for that."""
    text = json.dumps(_without_history(result))
    return f'{text[:-1]}, "history": {result._outcome.history()}}}'


def _without_history(result: RunResult) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "source": "run",
        "daisy_version": _core.__version__,
        "created": result.ended.astimezone(UTC).isoformat(timespec="seconds"),
        "wall_seconds": result.wall_seconds,
        "succeeded": bool(result),
        "cancelled": result.cancelled,
        "settings": {
            **result._settings,
            "python": platform.python_version(),
            "platform": platform.platform(),
        },
        "state_names": STATE_NAMES,
        "tasks": [_task(result, task_id) for task_id in result.states],
        "history_tasks": list(result._tasks),
        "errors": [asdict(group) for group in result.errors],
    }


def _task(result: RunResult, task_id: str) -> dict[str, Any]:
    state = result.states[task_id]
    stats = result.stats.per_task[task_id]
    position, settings = result._tasks[task_id]
    time = {
        name: getattr(stats, f"{name}_seconds")
        for name in ("mean", "median", "p95", "longest", "slope", "busy")
    }
    return {
        "task_id": task_id,
        "state": "abandoned" if state.abandoned else "done" if state.is_done() else "running",
        "reason": state.abandon_reason,
        "counts": {
            "total": state.total_block_count,
            "completed": state.completed_count - state.skipped_count,
            "skipped": state.skipped_count,
            "failed": state.failed_count,
            "orphaned": state.orphaned_count,
            "processed": stats.blocks_processed,
            "failed_attempts": stats.failed,
            "timeouts": state.timeout_reclaim_count,
            "worker_restarts": state.worker_restart_count,
        },
        "time": {
            **time,
            "histogram": stats.histogram,
            "straggler_count": stats.straggler_count,
            "stragglers": [asdict(one) for one in stats.stragglers],
        },
        "measured": {
            "blocks": stats.blocks_measured,
            "wall_seconds": stats.wall_seconds,
            "cpu_seconds": stats.cpu_seconds,
            "peak_rss_bytes": stats.peak_rss_bytes,
            "io_read_bytes": stats.io_read_bytes,
            "io_write_bytes": stats.io_write_bytes,
        },
        "workers": [
            asdict(worker)
            for (name, _), worker in result.stats.per_worker.items()
            if name == task_id
        ],
        "settings": settings,
        "blocks": {
            "grid_shape": settings["block_grid_shape"],
            "states": packed(result._outcome.block_states(position)),
            "seconds": packed(result._outcome.block_seconds(position)),
        },
    }


def packed(cells: bytes) -> str | None:
    """Bytes as text; None if there are none."""
    return base64.b64encode(cells).decode("ascii") if cells else None


def settings_of(tasks: Iterable[Task]) -> dict[str, tuple[int, dict[str, Any]]]:
    """Position and settings of each task, as they are shown; taken when a run ends, so that no task is kept."""
    return {task.task_id: (position, _settings(task)) for position, task in enumerate(tasks)}


def _settings(task: Task) -> dict[str, Any]:
    return {
        "total_roi": str(task._plan.total_roi),
        "read_roi": str(task._plan.read_roi),
        "write_roi": str(task._plan.write_roi),
        "block_grid_shape": list(task.block_grid_shape),
        "fit": task.fit,
        "read_write_conflict": task.read_write_conflict,
        "max_workers": task.max_workers,
        "max_retries": task.max_retries,
        "max_worker_restarts": task.max_worker_restarts,
        "timeout": task.timeout_secs,
        "requires": dict(task.requires),
        "resource_tracking": task.resource_tracking,
        "tracking_path": None if task.tracking_path is None else str(task.tracking_path),
        "launcher": task.launcher
        if isinstance(task.launcher, str)
        else type(task.launcher).__name__,
    }


def unfinished(stores: Mapping[str, str]) -> dict[str, Any]:
    """What a run leaves where its report will be, so that one that is killed is not taken for the one before it."""
    return {"schema": SCHEMA, "unfinished": True, "stores": dict(stores)}


def now() -> datetime:
    """This moment."""
    return datetime.now(UTC)


def check(report: Mapping[str, Any]) -> None:
    """Refuse what is not a report of this form.

    Raises:
        ValueError: Another form, or none.
    """
    if report.get("schema") != SCHEMA:
        raise ValueError(
            f"not a report of a run: schema: got {report.get('schema')!r}, expected {SCHEMA!r}"
        )
