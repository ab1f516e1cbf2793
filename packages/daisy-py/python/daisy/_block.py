"""Measuring part of a block."""

from __future__ import annotations

from types import TracebackType

from daisy import _core

Meter = _core.Meter


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
