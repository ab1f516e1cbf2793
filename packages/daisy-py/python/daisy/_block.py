"""Measuring part of a block."""

from __future__ import annotations

import os
import time
from types import TracebackType

from daisy import _core


class Meter:
    """Reads what this process uses, from when it was made."""

    def __init__(self) -> None:
        self._wall = time.perf_counter()
        self._cpu = _cpu_seconds()
        self._read, self._written = _io_bytes()

    def read(self) -> _core.BlockStats:
        """What was used since."""
        read, written = _io_bytes()
        return _core.BlockStats(
            wall_seconds=time.perf_counter() - self._wall,
            cpu_seconds=max(0.0, _cpu_seconds() - self._cpu),
            peak_rss_bytes=_peak_rss_bytes(),
            io_read_bytes=max(0, read - self._read),
            io_write_bytes=max(0, written - self._written),
        )


def _cpu_seconds() -> float:
    """Processor time of all threads, and of children that have ended."""
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


def _peak_rss_bytes() -> int:
    try:
        import resource  # noqa: PLC0415 - not on Windows
    except ImportError:
        return 0  # Windows
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if os.uname().sysname == "Darwin" else peak * 1024


def _io_bytes() -> tuple[int, int]:
    """Bytes through read and write calls; zero where the system does not tell."""
    try:
        with open("/proc/self/io", encoding="ascii") as file:
            values = dict(line.split(": ") for line in file)
        return int(values["rchar"]), int(values["wchar"])
    except (OSError, ValueError, KeyError):
        return 0, 0


class profile_block:  # noqa: N801 - used like a function, as in daisy 2.0.0
    """Measure what happens inside ``with`` instead of the whole block; the first measurement counts.

    Args:
        block: The block; its ``stats`` are set at the end.

    >>> import daisy
    >>> roi = daisy.Roi((0,), (10,))
    >>> block = daisy.Block(roi, roi, roi, "task")
    >>> with daisy.profile_block(block):
    ...     total = sum(range(1000))
    >>> block.stats.wall_seconds >= 0
    True
    """

    def __init__(self, block: _core.Block) -> None:
        self._block = block

    def __enter__(self) -> _core.Block:
        self._meter = Meter()
        return self._block

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._block.stats is None:
            self._block.stats = self._meter.read()


profile_block.__module__ = "daisy"
