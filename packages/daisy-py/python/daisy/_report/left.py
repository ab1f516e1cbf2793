"""What a run leaves beside the logs of its workers: a note when it begins, its report when it ends."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from daisy import logging
from daisy._report.facts import REPORT_FILE, unfinished

if TYPE_CHECKING:
    from daisy import _core
    from daisy._result import RunResult
    from daisy._task import Task


def leave_note(
    tasks: Sequence[Task], stores: Sequence[_core.TrackingStore | None], *, makes_logs: bool
) -> None:
    """Say where the stores are, for ``daisy report`` on a run that is killed before it leaves its report.

    It takes the place of the report of the run before, so that this run is not taken for that.

    Args:
        tasks: The tasks of the run.
        stores: Their stores.
        makes_logs: Whether the log folder may be made for it.
    """
    basedir = logging.get_log_basedir()
    paths = {
        task.task_id: os.path.abspath(store.path)
        for task, store in zip(tasks, stores, strict=True)
        if store is not None
    }
    if basedir is None or not (basedir.is_dir() or (paths and makes_logs)):
        return
    try:
        basedir.mkdir(parents=True, exist_ok=True)
        (basedir / REPORT_FILE).write_text(json.dumps(unfinished(paths)), "utf-8")
    except OSError as error:
        logging.logger.debug("no note of the run could be left in %s: %s", basedir, error)


def leave_report(result: RunResult) -> None:
    """Write the report where the workers' logs are, if there are any."""
    basedir = logging.get_log_basedir()
    if basedir is None or not basedir.is_dir():
        return
    try:
        result.save_json(basedir / REPORT_FILE)
    except OSError as error:
        # The run is worth more than its report.
        logging.logger.debug("the report could not be left in %s: %s", basedir, error)
