"""What was counted and measured in a run, as Python objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Straggler:
    """A block that took more than three times the median of its task.

    Attributes:
        index: Dense, row-major index of the block in the task's block grid.
        seconds: How long it took.
        worker_id: Who had it; None for a client that never registered.
    """

    index: int
    seconds: float
    worker_id: int | None


@dataclass(frozen=True)
class TaskRunStats:
    """What the blocks of one task took in this run.

    Times are of blocks that succeeded, in the order in which they came back: as measured with
    ``resource_tracking=True``, else by the clock of the worker.

    Attributes:
        task_id: Name of the task.
        blocks_processed: Returns of blocks that were accepted, succeeded or failed. Attempts that were taken away
            (timeout, dead worker) are none.
        succeeded: Those that succeeded.
        failed: Those that failed.
        busy_seconds: Time that workers spent in blocks.
        mean_seconds: Mean time of a block.
        median_seconds: Half of the blocks took at most this.
        p95_seconds: 95 % of the blocks took at most this.
        longest_seconds: Time of the slowest block.
        slope_seconds: Change of the time from block to block, by least squares; None for fewer than two.
        histogram: ``(from, to, count)``, ranges of seconds that grow by a fixed factor.
        straggler_count: Blocks that took more than three times the median.
        stragglers: The slowest of them.
        blocks_measured: Blocks of which a measurement came; the sums below are over these.
        wall_seconds: Sum of their time on the clock.
        cpu_seconds: Sum of their processor time.
        peak_rss_bytes: Largest resident memory of a worker.
        io_read_bytes: Bytes read.
        io_write_bytes: Bytes written.
    """

    task_id: str
    blocks_processed: int
    succeeded: int
    failed: int
    busy_seconds: float
    mean_seconds: float
    median_seconds: float
    p95_seconds: float
    longest_seconds: float
    slope_seconds: float | None
    histogram: Sequence[tuple[float, float, int]]
    straggler_count: int
    stragglers: Sequence[Straggler]
    blocks_measured: int
    wall_seconds: float
    cpu_seconds: float
    peak_rss_bytes: int
    io_read_bytes: int
    io_write_bytes: int


@dataclass(frozen=True)
class WorkerRunStats:
    """What one worker returned.

    Attributes:
        task_id: Name of its task.
        worker_id: Its number in the run.
        launched: Whether the run started it; others came by themselves.
        blocks_processed: Its accepted returns.
        succeeded: Those that succeeded.
        failed: Those that failed.
        busy_seconds: Time that it spent in blocks.
        started_seconds: When it was started or registered, after the begin of the run.
        ended_seconds: When it ended; None if that is not known.
        exit: How it ended; None if that is not known.
    """

    task_id: str
    worker_id: int
    launched: bool
    blocks_processed: int
    succeeded: int
    failed: int
    busy_seconds: float
    started_seconds: float | None
    ended_seconds: float | None
    exit: str | None


@dataclass(frozen=True)
class RunStats:
    """What was counted and measured in a run, on the server, where every return arrives.

    Attributes:
        per_task: By name of the task.
        per_worker: By name of the task and number of the worker.
    """

    per_task: Mapping[str, TaskRunStats]
    per_worker: Mapping[tuple[str, int], WorkerRunStats]

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> RunStats:
        """From what the core recorded."""
        tasks = [_task(entry) for entry in facts["per_task"]]
        workers = [_worker(entry, tasks) for entry in facts["per_worker"]]
        return cls(
            {task.task_id: task for task in tasks},
            {(worker.task_id, worker.worker_id): worker for worker in workers},
        )

    def as_tracking_summary(self) -> dict[str, Any]:
        """The same as ``Server.last_tracking_summary`` of daisy 2.0.0."""
        return {"per_task": {name: _summary(task) for name, task in self.per_task.items()}}


def _task(entry: Mapping[str, Any]) -> TaskRunStats:
    seconds, measured = entry["seconds"], entry["measured"]
    return TaskRunStats(
        task_id=entry["task"],
        blocks_processed=entry["blocks_processed"],
        succeeded=entry["succeeded"],
        failed=entry["failed"],
        busy_seconds=entry["busy_seconds"],
        mean_seconds=seconds["mean"],
        median_seconds=seconds["median"],
        p95_seconds=seconds["p95"],
        longest_seconds=seconds["largest"],
        slope_seconds=entry["slope"],
        histogram=tuple((low, high, count) for low, high, count in seconds["histogram"]),
        straggler_count=entry["straggler_count"],
        stragglers=tuple(
            Straggler(one["index"], one["seconds"], one["worker"]) for one in entry["stragglers"]
        ),
        blocks_measured=measured["blocks"],
        wall_seconds=measured["wall_seconds"],
        cpu_seconds=measured["cpu_seconds"],
        peak_rss_bytes=measured["peak_rss_bytes"],
        io_read_bytes=measured["io_read_bytes"],
        io_write_bytes=measured["io_write_bytes"],
    )


def _worker(entry: Mapping[str, Any], tasks: Sequence[TaskRunStats]) -> WorkerRunStats:
    return WorkerRunStats(
        task_id=tasks[entry["task"]].task_id,
        worker_id=entry["worker"],
        launched=entry["launched"],
        blocks_processed=entry["blocks_processed"],
        succeeded=entry["succeeded"],
        failed=entry["failed"],
        busy_seconds=entry["busy_seconds"],
        started_seconds=entry["started_seconds"],
        ended_seconds=entry["ended_seconds"],
        exit=entry["exit"],
    )


def _summary(task: TaskRunStats) -> dict[str, Any]:
    has_stats = task.blocks_measured > 0
    slope = task.slope_seconds or 0.0
    return {
        "blocks": task.succeeded,
        "failures": task.failed,
        "has_stats": has_stats,
        "total_cpu_secs": task.cpu_seconds,
        "total_block_secs": task.wall_seconds,
        "max_peak_rss_bytes": task.peak_rss_bytes,
        "io_read_bytes": task.io_read_bytes,
        "io_write_bytes": task.io_write_bytes,
        "mean_block_ms": task.mean_seconds * 1e3 if has_stats else 0.0,
        "block_ms_slope": slope * 1e3 if has_stats else 0.0,
    }
