"""Where the output of workers goes.

Each worker writes to ``<basedir>/<task_id>/worker_<worker_id>.out`` and ``.err``, live.
"""

from __future__ import annotations

import logging as _logging
import os
import shutil
import sys
import threading
import traceback
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias

from daisy._settings import ERROR_BYTES, ERROR_LINES

Mode: TypeAlias = Literal["file", "console", "both"]
Style: TypeAlias = Literal["plain", "rich"]

LOG_BASEDIR = Path("./daisy_logs")
"""Where logs go unless ``set_log_basedir`` says otherwise."""

logger = _logging.getLogger("daisy")

_basedir: Path | None = LOG_BASEDIR
_mode: Mode = "file"
_traceback_style: dict[str, Any] = {
    "style": "plain",
    "show_locals": False,
    "width": 100,
    "extra_lines": 2,
}
_of_thread = threading.local()


def set_log_basedir(path: str | os.PathLike[str] | None) -> None:
    """Write logs under ``path``; None for no files: output then goes to the console."""
    global _basedir  # noqa: PLW0603 - a setting of the process, as in daisy 2.0.0
    _basedir = None if path is None else Path(path)


def get_log_basedir() -> Path | None:
    """Where logs go, or None."""
    return _basedir


def set_log_mode(mode: Mode) -> None:
    """Send the output of workers to files, to the console, or to both."""
    global _mode  # noqa: PLW0603 - a setting of the process, as in daisy 2.0.0
    if mode not in ("file", "console", "both"):
        raise ValueError(f"argument 'mode': expected 'file', 'console' or 'both', got {mode!r}")
    _mode = mode


def get_log_mode() -> Mode:
    """Where the output of workers goes: without a folder, to the console."""
    return "console" if _basedir is None else _mode


def set_log_level(level: int | str) -> None:
    """Set the level of the logger ``daisy``."""
    logger.setLevel(level)


def get_log_level() -> int:
    """The level of the logger ``daisy``."""
    return logger.level


def get_worker_log_basename(worker_id: int | str, task_id: str | None = None) -> Path | None:
    """``<basedir>/[task_id/]worker_<worker_id>`` without ending, or None if no files are written."""
    if _basedir is None:
        return None
    folder = _basedir if task_id is None else _basedir / task_id
    return folder / f"worker_{worker_id}"


def clear_logs(task_id: str | None = None) -> None:
    """Delete the logs of a task, or all of them.

    Raises:
        ValueError: If ``task_id`` is not one path component: nothing outside the folder is deleted.
    """
    if _basedir is None:
        return
    if task_id is None:
        shutil.rmtree(_basedir, ignore_errors=True)
        return
    if not task_id or Path(task_id).name != task_id or task_id in (".", ".."):
        raise ValueError(f"argument 'task_id': expected the name of a task, got {task_id!r}")
    shutil.rmtree(_basedir / task_id, ignore_errors=True)


def set_traceback_style(
    style: Style = "plain", show_locals: bool = False, width: int = 100, extra_lines: int = 2
) -> None:
    """Choose how tracebacks of blocks look; ``"rich"`` needs the package rich."""
    if style not in ("plain", "rich"):
        raise ValueError(f"argument 'style': expected 'plain' or 'rich', got {style!r}")
    _traceback_style.update(
        style=style, show_locals=show_locals, width=width, extra_lines=extra_lines
    )


def get_traceback_style() -> dict[str, Any]:
    """The arguments of ``set_traceback_style``."""
    return dict(_traceback_style)


def format_traceback(error: BaseException) -> str:
    """The traceback of an error, in the style that was set."""
    if _traceback_style["style"] == "rich":
        text = _format_rich(error)
        if text is not None:
            return text
    return "".join(traceback.format_exception(error))


def _format_rich(error: BaseException) -> str | None:
    try:
        from rich.console import Console  # noqa: PLC0415 - an optional package
        from rich.traceback import Traceback  # noqa: PLC0415
    except ImportError:
        return None
    import io  # noqa: PLC0415

    console = Console(file=io.StringIO(), width=_traceback_style["width"])
    console.print(
        Traceback.from_exception(
            type(error),
            error,
            error.__traceback__,
            show_locals=_traceback_style["show_locals"],
            width=_traceback_style["width"],
            extra_lines=_traceback_style["extra_lines"],
        )
    )
    output = console.file
    return output.getvalue() if isinstance(output, io.StringIO) else None


def shorten(text: str) -> str:
    """The last lines of an error text, few enough to travel."""
    # Cut by length first: splitting a message of 100 MB into lines would cost as much again.
    tail = text[-ERROR_BYTES:]
    lines = tail.splitlines()[-ERROR_LINES:]
    short = "\n".join(lines).encode(errors="replace")[-ERROR_BYTES:].decode(errors="ignore")
    return short if len(short) >= len(text.rstrip("\n")) else f"…{short}"


def emit_failure(block: object, error: BaseException) -> str:
    """Write the failure of a block to the worker's log; returns the text that may travel."""
    text = _bounded_traceback(error)
    stream = sys.stderr
    if stream is not None:
        try:
            stream.write(f"block {getattr(block, 'block_id', block)} failed:\n{text}\n")
            stream.flush()
        except (OSError, ValueError):
            # The log is full, or closed: the driver still hears of the failure.
            pass
    return shorten(text)


def _bounded_traceback(error: BaseException) -> str:
    try:
        return format_traceback(error)
    except Exception as failure:  # noqa: BLE001 - a __str__ or __repr__ of the user's may raise anything
        return f"{type(error).__qualname__} (its text cannot be made: {type(failure).__qualname__})"


def set_slot_files(out: IO[str] | None, err: IO[str] | None) -> None:
    """Remember the log files of this thread."""
    _of_thread.files = (out, err)


def current_slot_files() -> tuple[IO[str] | None, IO[str] | None]:
    """The log files of this thread, if it is a worker."""
    files: tuple[IO[str] | None, IO[str] | None] = getattr(_of_thread, "files", (None, None))
    return files


def close_all_log_files() -> None:
    """Close the log files of this thread."""
    for file in current_slot_files():
        if file is not None:
            file.close()
    set_slot_files(None, None)
