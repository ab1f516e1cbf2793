"""The table of what blocks used, printed after a run that measured some."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from daisy._stats import RunStats, TaskRunStats

_HEADING = "Resource Utilization"
_COLUMNS = ("task", "blocks", "fails", "mean ms", "median", "p95", "∠ slope", "cpu s", "peak RSS")


def resource_table(stats: RunStats) -> str:
    """The table as text, empty if nothing was measured."""
    tasks = list(stats.per_task.values())
    measured = sum(task.blocks_measured for task in tasks)
    if not measured:
        return ""
    lines = ["", _HEADING, "-" * len(_HEADING), "", *_totals(tasks, measured), ""]
    rows = [_COLUMNS, *(_row(task) for task in tasks)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS))]
    lines += ["  Per-task:", _line(_COLUMNS, widths)]
    lines.append("    " + "  ".join("─" * width for width in widths))
    lines += [_line(row, widths) for row in rows[1:]]
    return "\n".join([*lines, ""])


def _totals(tasks: list[TaskRunStats], measured: int) -> list[str]:
    wall = sum(task.wall_seconds for task in tasks)
    cpu = sum(task.cpu_seconds for task in tasks)
    peak = max(task.peak_rss_bytes for task in tasks)
    share = f"{cpu / wall:.2f}" if wall > 0 else "-"
    return [
        "  Totals (summed over measured blocks):",
        f"    blocks measured : {measured}",
        f"    CPU time        : {cpu:.2f} s",
        f"    in-block time   : {wall:.2f} s",
        f"    CPU per block-s : {share}   (≈1.0 CPU-bound, «1.0 IO-bound)",
        f"    peak RSS        : {_bytes(peak)}   (largest single worker)",
        f"    IO read         : {_bytes(sum(task.io_read_bytes for task in tasks))}",
        f"    IO write        : {_bytes(sum(task.io_write_bytes for task in tasks))}",
    ]


def _row(task: TaskRunStats) -> tuple[str, ...]:
    counts = (task.task_id, str(task.succeeded), str(task.failed))
    if not task.blocks_measured:
        return (*counts, "-", "-", "-", "-", "-", "-")
    slope = "-" if task.slope_seconds is None else f"∠ {task.slope_seconds * 1e3:+.4f}"
    return (
        *counts,
        f"{task.mean_seconds * 1e3:.2f}",
        f"{task.median_seconds * 1e3:.2f}",
        f"{task.p95_seconds * 1e3:.2f}",
        slope,
        f"{task.cpu_seconds:.2f}s",
        _bytes(task.peak_rss_bytes),
    )


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    first, *rest = cells
    numbers = "  ".join(cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True))
    return f"    {first.ljust(widths[0])}  {numbers}"


def _bytes(count: float) -> str:
    for unit in ("B", "KB", "MB", "GB"):
        if count < 1000:
            return f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"
