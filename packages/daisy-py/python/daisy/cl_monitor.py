"""``daisy.cl_monitor`` of daisy 1.x: progress and summary are shown without it."""

from __future__ import annotations


class CLMonitor:
    """Does nothing: ``run_blockwise(progress=True, summary=True)`` show what it showed.

    Args:
        server: Ignored.
    """

    def __init__(self, server: object = None) -> None:
        self.server = server
