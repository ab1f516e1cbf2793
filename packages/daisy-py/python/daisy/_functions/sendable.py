"""What a worker gets instead of objects that belong to one process, and which of them it cannot get."""

from __future__ import annotations

import struct
import sys
import threading
import types
from collections.abc import Callable
from typing import Any

Reduced = tuple[Any, ...]

_LOCKS = (type(threading.Lock()), type(threading.RLock()))
_STREAMS = ("stdin", "stdout", "stderr")

# Types that are one process's own: where they are found, and what messages call an object of them.
_OWN = (
    ("_io", "FileIO", "an open file"),
    ("_io", "BufferedReader", "an open file"),
    ("_io", "BufferedWriter", "an open file"),
    ("_io", "BufferedRandom", "an open file"),
    ("_io", "BufferedRWPair", "an open file"),
    ("_io", "TextIOWrapper", "an open file"),
    ("socket", "socket", "a socket"),
    ("threading", "Thread", "a thread"),
    ("types", "GeneratorType", "a generator"),
    ("types", "CoroutineType", "a coroutine"),
    ("types", "AsyncGeneratorType", "an asynchronous generator"),
    ("subprocess", "Popen", "a process"),
    ("multiprocessing.process", "BaseProcess", "a process"),
    ("multiprocessing.pool", "Pool", "a pool of processes"),
    ("multiprocessing.connection", "_ConnectionBase", "a connection to a process"),
    ("concurrent.futures._base", "Executor", "a pool of workers"),
    ("asyncio.events", "AbstractEventLoop", "an event loop"),
)


class NotSendable(Exception):
    """An object that is one process's own.

    Attributes:
        value: The object.
        what: What it is, in words.
    """

    def __init__(self, value: object) -> None:
        self.value = value
        self.what = description(value) or type(value).__name__
        super().__init__(f"{self.what} belongs to this process")


def description(value: object) -> str | None:
    """What an object that is one process's own is called; None for any other."""
    found = _kind(type(value))
    if found is None:
        return None
    name = getattr(value, "name", None)
    return f"{found} ({name!r})" if isinstance(name, str | int) else found


def is_lock(value: object) -> bool:
    """Whether it keeps out other threads of its process."""
    return isinstance(value, (*_LOCKS, threading.Condition, threading.Semaphore, threading.Barrier))


def replacement(value: object) -> Reduced | None:
    """How a worker makes what it gets instead, as ``__reduce__`` says it; None if it is sent as it is.

    Raises:
        NotSendable: If it cannot get anything.
    """
    kind = type(value)
    make = _MADE.get(kind)
    if make is not None:
        return make(value)
    if kind in _PLAIN:
        return None
    if issubclass(kind, threading.local):
        return (kind, ())
    for name in _STREAMS:
        if value is getattr(sys, name) or value is getattr(sys, f"__{name}__"):
            return None if value is None else (getattr, (sys, name))
    if _kind(kind) is not None:
        raise NotSendable(value)
    return None


def _kind(kind: type) -> str | None:
    known = _kinds.get(kind, "")
    if known == "":
        known = _kinds[kind] = next(
            (what for place, name, what in _OWN if issubclass(kind, _type_of(place, name))), None
        )
    return known


def _type_of(place: str, name: str) -> type | tuple[()]:
    """The type, if its module was imported: without it there are no objects of it."""
    found = getattr(sys.modules.get(place), name, ())
    return found if isinstance(found, type) else ()


_kinds: dict[type, str | None] = {}

_PLAIN = frozenset(
    {type(None), bool, int, float, complex, str, bytes, tuple, list, dict, set, frozenset, type}
    | {types.FunctionType, types.BuiltinFunctionType, types.CodeType, types.CellType}
)

# Always a fresh one: what is held here is not held there, and nobody there would let go of it.
_MADE: dict[type, Callable[[Any], Reduced]] = {
    _LOCKS[0]: lambda _: (threading.Lock, ()),
    _LOCKS[1]: lambda _: (threading.RLock, ()),
    threading.local: lambda _: (threading.local, ()),
    struct.Struct: lambda layout: (struct.Struct, (layout.format,)),
}
