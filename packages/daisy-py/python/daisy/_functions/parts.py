"""What a function brings along when it is sent to a worker: names that it uses, variables, defaults, attributes."""

from __future__ import annotations

import dis
import sys
import types
from collections.abc import Iterator
from typing import Any

from daisy._functions.importable import is_importable

_OF_GLOBALS = frozenset(("LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL"))


def globals_used(function: types.FunctionType) -> dict[str, Any]:
    """The globals that a function uses, and those of functions beside it that it may call, however they call it.

    Args:
        function: Any function of Python.

    Returns:
        The values by name; names that are not there (yet), or are builtins, are left out.
    """
    used: dict[str, Any] = {}
    left, seen = [function], set[int]()
    while left:
        found = left.pop()
        if id(found) in seen or found.__globals__ is not function.__globals__:
            continue
        seen.add(id(found))
        mine = {
            name: found.__globals__[name]
            for name in _global_names(found.__code__)
            if name in found.__globals__
        }
        used.update(mine)
        reached = [*mine.values(), *dict(_contents(found)).values()]
        left += [value for value in reached if isinstance(value, types.FunctionType)]
    return used


def module_of(function: types.FunctionType) -> str | None:
    """The module in which a function looks for names, if a worker can import it."""
    name = function.__globals__.get("__name__")
    module = sys.modules.get(name) if isinstance(name, str) else None
    if name is None or module is None or vars(module) is not function.__globals__:
        return None
    return name if is_importable(name) else None


def _global_names(code: types.CodeType) -> Iterator[str]:
    for instruction in dis.get_instructions(code):
        if instruction.opname in _OF_GLOBALS:
            yield instruction.argval
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _global_names(constant)


def _contents(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """The variables of the closure by name."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    for name, cell in cells:
        try:
            yield name, cell.cell_contents
        except ValueError:
            continue  # not assigned yet


def parts_of(function: Any) -> list[tuple[str, Any]]:
    """What a function brings along, with a name for each part."""
    parts: list[tuple[str, Any]] = []
    if hasattr(function, "func") and hasattr(function, "keywords"):  # functools.partial
        parts += [(f"argument {i} of the partial", value) for i, value in enumerate(function.args)]
        parts += [(f"argument {key!r} of the partial", v) for key, v in function.keywords.items()]
        return parts + parts_of(function.func)
    if isinstance(function, types.MethodType):
        owner = function.__self__
        attributes = getattr(owner, "__dict__", {})
        parts += [(f"attribute {k!r} of {type(owner).__name__}", v) for k, v in attributes.items()]
        return parts + parts_of(function.__func__)
    if not isinstance(function, types.FunctionType):
        attributes = getattr(function, "__dict__", {})
        return [
            (f"attribute {key!r} of {type(function).__name__}", v) for key, v in attributes.items()
        ]
    parts += [(f"variable {name!r} of the closure", value) for name, value in _contents(function)]
    used = globals_used(function)
    parts += [(f"global {name!r}", value) for name, value in used.items()]
    parts += [(f"default {i}", value) for i, value in enumerate(function.__defaults__ or ())]
    parts += [(f"default of {k!r}", v) for k, v in (function.__kwdefaults__ or {}).items()]
    return parts
