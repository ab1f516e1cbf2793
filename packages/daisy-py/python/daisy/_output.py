"""Outputs of a worker: written line by line, and never a reason for a block to fail."""

from __future__ import annotations

import errno
import io
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LOST = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EPIPE, errno.ESTALE))
"""What a full disk, a quota, a limit, a broken disk, a console that is gone, and a lost server of files say."""


class _Output(io.FileIO):
    """A file that takes what it has no room for, and loses it."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError as error:
            if error.errno not in _LOST:
                raise
            return len(memoryview(data).cast("B"))


def settle() -> None:
    """Give up the pipe that the payload came through, and write lines as they are printed."""
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    for name, number in (("stdout", 1), ("stderr", 2)):
        stream = getattr(sys, name)
        if stream is None:
            continue
        stream.flush()
        raw = _Output(number, "w", closefd=False)
        settled = io.TextIOWrapper(
            io.BufferedWriter(raw),
            encoding=stream.encoding,
            errors="backslashreplace",
            line_buffering=True,
        )
        setattr(sys, name, settled)
        setattr(sys, f"__{name}__", settled)
