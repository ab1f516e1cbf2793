"""The files that worker processes write to, and what a user is told where nothing can be written."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import IO

from daisy.launchers._protocol import WorkerSpec
from daisy.logging import logger

_SECONDS_BETWEEN_LOOKS = 1.0


class LogFiles:
    """Opens them, and warns once for a run if what workers print is lost or goes elsewhere: it fails no block."""

    def __init__(self) -> None:
        self._has_warned = False
        self._folder: Path | None = None
        self._look_at = 0.0

    def open(
        self, worker: int, spec: WorkerSpec, opened: contextlib.ExitStack
    ) -> tuple[tuple[IO[bytes], IO[bytes]] | None, Path | None]:
        """The outputs of a worker, and the path of the second; nothing if there are to be none, or can be none."""
        if spec.log_dir is None or spec.log_mode == "console":
            return None, None
        base = spec.log_dir / f"worker_{worker}"
        try:
            spec.log_dir.mkdir(parents=True, exist_ok=True)
            out = opened.enter_context(open(f"{base}.out", "ab"))
            err = opened.enter_context(open(f"{base}.err", "ab"))
        except OSError as error:
            self._warn("worker logs cannot be written, output goes to the console: %s", error)
            return None, None
        self._folder = spec.log_dir
        self.look_for_room()
        return (out, err), Path(f"{base}.err")

    def look_for_room_now_and_then(self) -> None:
        """For callers that come often."""
        if time.monotonic() >= self._look_at:
            self._look_at = time.monotonic() + _SECONDS_BETWEEN_LOOKS
            self.look_for_room()

    def look_for_room(self) -> None:
        """Warn if there is no more of it."""
        if self._folder is None or self._has_warned or not hasattr(os, "statvfs"):
            return
        with contextlib.suppress(OSError):
            if os.statvfs(self._folder).f_bavail == 0:
                self._warn(
                    "there is no room left for logs in %s: output of workers is lost", self._folder
                )

    def _warn(self, text: str, about: object) -> None:
        if not self._has_warned:
            logger.warning(text, about)
        self._has_warned = True
