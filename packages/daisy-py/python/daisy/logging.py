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


class _OfThread(threading.local):
    """What belongs to one thread; pickled, it is a fresh one."""

    def __reduce__(self) -> tuple[type[_OfThread], tuple[()]]:
        return (_OfThread, ())


_of_thread = _OfThread()


def set_log_basedir(path: str | os.PathLike[str] | None) -> None:
    """Write logs under ``path``.

    Args:
        path: The folder; None for no files: output then goes to the console.

    >>> import daisy
    >>> daisy.logging.set_log_basedir("logs")
    >>> daisy.logging.get_log_basedir().name
    'logs'
    >>> daisy.logging.set_log_basedir(daisy.logging.LOG_BASEDIR)
    """
    global _basedir  # noqa: PLW0603 - a setting of the process, as in daisy 2.0.0
    _basedir = None if path is None else Path(path)


def get_log_basedir() -> Path | None:
    """Where logs go, or None.

    >>> import daisy
    >>> daisy.logging.get_log_basedir() == daisy.logging.LOG_BASEDIR
    True
    """
    return _basedir


def set_log_mode(mode: Mode) -> None:
    """Send the output of workers to files, to the console, or to both.

    Args:
        mode: ``"file"``, ``"console"`` or ``"both"``.

    Raises:
        ValueError: Another mode.

    >>> import daisy
    >>> daisy.logging.set_log_mode("both")
    >>> daisy.logging.get_log_mode()
    'both'
    >>> daisy.logging.set_log_mode("file")
    """
    global _mode  # noqa: PLW0603 - a setting of the process, as in daisy 2.0.0
    if mode not in ("file", "console", "both"):
        raise ValueError(f"argument 'mode': expected 'file', 'console' or 'both', got {mode!r}")
    _mode = mode


def get_log_mode() -> Mode:
    """Where the output of workers goes: without a folder, to the console.

    >>> import daisy
    >>> daisy.logging.get_log_mode()
    'file'
    """
    return "console" if _basedir is None else _mode


def set_log_level(level: int | str) -> None:
    """Set the level of the logger ``daisy``.

    Args:
        level: A level of the module ``logging``, as a number or by name.

    >>> import daisy
    >>> daisy.logging.set_log_level("WARNING")
    >>> daisy.logging.get_log_level()
    30
    >>> daisy.logging.set_log_level("NOTSET")
    """
    logger.setLevel(level)


def get_log_level() -> int:
    """The level of the logger ``daisy``.

    >>> import daisy
    >>> daisy.logging.get_log_level()
    0
    """
    return logger.level


def get_worker_log_basename(worker_id: int | str, task_id: str | None = None) -> Path | None:
    """``<basedir>/[task_id/]worker_<worker_id>`` without ending, or None if no files are written.

    Args:
        worker_id: The id of the worker.
        task_id: The name of its task.

    Returns:
        The path, to which ``.out`` and ``.err`` are added.

    >>> import daisy
    >>> daisy.get_worker_log_basename(3, "copy").as_posix()
    'daisy_logs/copy/worker_3'
    """
    if _basedir is None:
        return None
    folder = _basedir if task_id is None else _basedir / task_id
    return folder / f"worker_{worker_id}"


def clear_logs(task_id: str | None = None) -> None:
    """Delete the logs of a task, or all of them.

    Args:
        task_id: The name of the task; None for all tasks.

    Raises:
        ValueError: If ``task_id`` is not one path component: nothing outside the folder is deleted.

    >>> import daisy
    >>> daisy.logging.clear_logs("copy")  # that there are none is no error
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
    """Choose how tracebacks of blocks look.

    Args:
        style: ``"plain"``, or ``"rich"``, which needs the package rich.
        show_locals: Whether rich shows local variables.
        width: Width of rich's lines, in characters.
        extra_lines: Lines of source that rich shows before and after.

    Raises:
        ValueError: Another style.

    >>> import daisy
    >>> daisy.logging.set_traceback_style("plain")
    >>> daisy.logging.get_traceback_style()["style"]
    'plain'
    """
    if style not in ("plain", "rich"):
        raise ValueError(f"argument 'style': expected 'plain' or 'rich', got {style!r}")
    _traceback_style.update(
        style=style, show_locals=show_locals, width=width, extra_lines=extra_lines
    )


def get_traceback_style() -> dict[str, Any]:
    """The arguments of ``set_traceback_style``.

    >>> import daisy
    >>> daisy.logging.get_traceback_style()["width"]
    100
    """
    return dict(_traceback_style)


def format_traceback(error: BaseException) -> str:
    """The traceback of an error, in the style that was set.

    Args:
        error: The error.

    Returns:
        Lines of text, as Python prints them.

    >>> import daisy
    >>> print(daisy.logging.format_traceback(ValueError("a bad block")), end="")
    ValueError: a bad block
    """
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
    """The last lines of an error text, few enough to travel.

    Args:
        text: The whole text.

    Returns:
        Its end, after an ellipsis if something is left out.

    >>> import daisy
    >>> daisy.logging.shorten("ValueError: a bad block")
    'ValueError: a bad block'
    """
    # Cut by length first: splitting a message of 100 MB into lines would cost as much again.
    tail = text[-ERROR_BYTES:]
    lines = tail.splitlines()[-ERROR_LINES:]
    short = "\n".join(lines).encode(errors="replace")[-ERROR_BYTES:].decode(errors="ignore")
    return short if len(short) >= len(text.rstrip("\n")) else f"…{short}"


def emit_failure(block: object, error: BaseException) -> str:
    """Write the failure of a block to the worker's log.

    Args:
        block: The block, or its id.
        error: What its function raised.

    Returns:
        The text that may travel: the end of the traceback.

    >>> import daisy
    >>> daisy.logging.emit_failure(("copy", 3), ValueError("a bad block"))
    'ValueError: a bad block'
    """
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
    """Remember the log files of this thread, which a launcher of threads opened.

    Args:
        out: What it prints goes here.
        err: Errors go here.

    >>> import daisy, io
    >>> daisy.logging.set_slot_files(io.StringIO(), None)
    >>> daisy.logging.close_all_log_files()
    """
    _of_thread.files = (out, err)


def current_slot_files() -> tuple[IO[str] | None, IO[str] | None]:
    """The log files of this thread, if it is a worker: for output and for errors.

    >>> import daisy
    >>> daisy.logging.current_slot_files()
    (None, None)
    """
    files: tuple[IO[str] | None, IO[str] | None] = getattr(_of_thread, "files", (None, None))
    return files


def close_all_log_files() -> None:
    """Close the log files of this thread.

    >>> import daisy
    >>> daisy.logging.close_all_log_files()
    """
    for file in current_slot_files():
        if file is not None:
            file.close()
    set_slot_files(None, None)
