"""``daisy.cl_monitor`` of daisy 1.x: progress and summary are shown without it."""

from __future__ import annotations

from typing import Any

from daisy._compat.server import ServerObserver
from daisy._compat.warn import warn_of_former


class CLMonitor(ServerObserver):
    """Hears the runs of a server and shows nothing itself: ``progress=True, summary=True`` show what it did.

    Args:
        server: The server to listen to.
    """

    def __init__(self, server: Any = None) -> None:
        warn_of_former("CLMonitor(server)", "run_blockwise(..., progress=True, summary=True)")
        if hasattr(server, "register_observer"):
            super().__init__(server)
