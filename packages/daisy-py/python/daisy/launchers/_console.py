"""Output of workers on the driver's console, besides their files."""

from __future__ import annotations

import contextlib
import sys
import threading
from typing import IO


class Console:
    """Copies what workers write to their files and to this process's output, line by line."""

    def __init__(self) -> None:
        self._threads: list[threading.Thread] = []

    def tee(
        self,
        sources: tuple[IO[bytes] | None, IO[bytes] | None],
        files: tuple[IO[bytes], IO[bytes]],
    ) -> None:
        """Copy both outputs of a process until it closes them."""
        for source, file, name in zip(sources, files, ("stdout", "stderr"), strict=True):
            if source is not None:
                thread = threading.Thread(
                    target=_copy, args=(source, file, name), name="daisy-console", daemon=True
                )
                thread.start()
                self._threads.append(thread)

    def close(self) -> None:
        """Wait until all is copied."""
        for thread in self._threads:
            # What a worker started may keep its output open; that is not waited for.
            thread.join(timeout=1.0)


def _copy(source: IO[bytes], file: IO[bytes], name: str) -> None:
    with source, file:
        for line in source:
            # A full disk takes nothing from the console.
            with contextlib.suppress(OSError):
                file.write(line)
                file.flush()
            stream = getattr(sys, name)
            if stream is None:
                continue
            try:
                stream.write(line.decode(errors="replace"))
                stream.flush()
            except (OSError, ValueError, UnicodeError):
                continue  # the console is gone or cannot show it; the file has it
