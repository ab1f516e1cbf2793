"""The tables printed after a run."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import IO, TYPE_CHECKING

from daisy import logging
from daisy._resource_table import resource_table

if TYPE_CHECKING:
    from daisy import _core
    from daisy._result import RunResult

_COLUMNS = ("blocks", "completed", "skipped", "failed", "orphaned")
_ASCII = {
    "✔": "ok",
    "✗": "x",
    "∅": "o",
    "…": "...",
    "─": "-",
    "×": "x",
    "—": "-",
    "∠": "/",
    "≈": "~",
    "«": "<<",
}


def summary_of(result: RunResult, heading: str = "Execution Summary") -> str:
    """The summary of a run as text."""
    lines = ["", heading, "-" * len(heading), ""]
    lines += _table(result.states)
    for task_id in result.states:
        lines += _failures(result, task_id)
    return "\n".join([*lines, ""])


def print_summary(
    result: RunResult, stream: IO[str] | None = None, *, interrupted: bool = False
) -> None:
    """Print the summary of a run; a terminal that knows only ASCII gets ASCII."""
    text = summary_of(result) + resource_table(result.stats)
    if interrupted:
        text = "\nRun interrupted; counts at shutdown:\n" + text
    stream = sys.stdout if stream is None else stream
    if stream is None:
        return
    try:
        stream.write(_encodable(text, stream) + "\n")
        stream.flush()
    except (OSError, ValueError):
        # stdout is closed or its reader is gone; the result says the same.
        logger_message = "the execution summary could not be printed: stdout is closed"
        logging.logger.debug(logger_message)


def _encodable(text: str, stream: IO[str]) -> str:
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        for symbol, plain in _ASCII.items():
            text = text.replace(symbol, plain)
        return text.encode("ascii", errors="backslashreplace").decode("ascii")
    return text


def symbol_of(state: _core.TaskState) -> str:
    """One character for how a task ended."""
    if state.failed_count:
        return "✗"
    if state.orphaned_count:
        return "∅"
    return "✔" if state.is_done() else "…"


def _table(states: Mapping[str, _core.TaskState]) -> list[str]:
    rows = [
        (f"{task_id} {symbol_of(state)}", *(str(value) for value in _counts(state)))
        for task_id, state in states.items()
    ]
    header = ("task", *_COLUMNS)
    widths = [max([len(header[i]), *(len(row[i]) for row in rows)]) for i in range(len(header))]
    lines = [_row(header, widths), "    " + "  ".join("─" * width for width in widths)]
    return [*lines, *(_row(row, widths) for row in rows)]


def _counts(state: _core.TaskState) -> tuple[int, ...]:
    # Completed and skipped are apart here, so that each row adds up to its blocks.
    return (
        state.total_block_count,
        state.completed_count - state.skipped_count,
        state.skipped_count,
        state.failed_count,
        state.orphaned_count,
    )


def _row(cells: tuple[str, ...], widths: list[int]) -> str:
    first, *rest = cells
    numbers = "  ".join(cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True))
    return f"    {first.ljust(widths[0])}  {numbers}"


def _failures(result: RunResult, task_id: str) -> list[str]:
    state = result.states[task_id]
    groups = [group for group in result.errors if group.task_id == task_id]
    lines: list[str] = []
    if state.abandoned:
        lines += ["", f"    Task '{task_id}' was abandoned: {state.abandon_reason}"]
    if groups:
        lines += ["", f"    First failure in task '{task_id}':"]
        lines += [f"      {line}" for line in groups[0].traceback.splitlines()]
        others = sum(group.count for group in groups) - 1
        if others:
            lines.append(f"      (+ {others} more failed attempts — see worker logs)")
    elif state.abandoned and state.first_worker_error:
        lines += [f"      {line}" for line in state.first_worker_error.splitlines()]
    if state.timeout_reclaim_count:
        limit = f"{state.timeout_secs:g}s" if state.timeout_secs else "the limit"
        lines += [
            "",
            f"    {state.timeout_reclaim_count} block attempt(s) in task '{task_id}' exceeded the block "
            f"timeout ({limit}; pass Task(timeout=...) to raise it for slow blocks)",
        ]
    basedir = logging.get_log_basedir()
    if (groups or state.abandoned) and basedir is not None:
        lines += ["", f"    See worker logs for details under {basedir / task_id}/"]
    return lines
