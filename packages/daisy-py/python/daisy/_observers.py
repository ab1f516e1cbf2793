"""Observers by name."""

from __future__ import annotations

import sys

from daisy._progress import JsonProgressObserver, LineObserver, TerminalObserver

_GROUP = "daisy.observers"
# Here and not only in the metadata, so that they work from a source tree that is not installed.
_BUILT_IN = {"bars": TerminalObserver, "lines": LineObserver, "json": JsonProgressObserver}


def observer_of(progress: object) -> object | None:
    """The observer that ``progress=`` asks for.

    Raises:
        ValueError: A name that no observer has.
    """
    if progress is True:
        return TerminalObserver() if _is_terminal() else LineObserver()
    if progress is None or progress is False:
        return None
    return _named(progress) if isinstance(progress, str) else progress


def _named(name: str) -> object:
    if name in _BUILT_IN:
        return _BUILT_IN[name]()
    from importlib.metadata import entry_points  # noqa: PLC0415 - slow, and only plugins need it

    known = entry_points(group=_GROUP)
    for point in known:
        if point.name == name:
            make = point.load()
            made: object = make()
            return made
    names = ", ".join(sorted({*_BUILT_IN, *(point.name for point in known)}))
    raise ValueError(
        f"argument 'progress': expected True, False, an observer, or the name of one ({names}), got {name!r}"
    )


def _is_terminal() -> bool:
    if "ipykernel" in sys.modules:
        return True
    try:
        return sys.stderr is not None and sys.stderr.isatty()
    except ValueError:
        return False  # stderr is closed
