"""The worker's half of sending a function; light, because every worker imports it."""

from __future__ import annotations

import builtins
import types

# The part of pickle that is written in C: the module around it imports much that is not needed here.
from _pickle import loads as _loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def loads(payload: bytes) -> Any:
    """The function that ``dumps`` made bytes of."""
    # It comes from the driver, through a pipe of its own.
    return _loads(payload)


# These are here, and not dill's are used, so that a worker need not import dill for most functions.


def make_function(
    code: types.CodeType,
    names: dict[str, Any],
    name: str | None = None,
    defaults: tuple[Any, ...] | None = None,
    closure: tuple[types.CellType, ...] | None = None,
) -> types.FunctionType:
    """A function that was sent by value; what it has besides is set after, by pickle."""
    names.setdefault("__builtins__", builtins)
    return types.FunctionType(code, names, name, defaults, closure)


def names_of_module(name: str) -> dict[str, Any]:
    """Where the functions of a module look for names."""
    from importlib import import_module  # noqa: PLC0415 - only for functions that are made inside others

    return vars(import_module(name))


def make_cell(*contents: Any) -> types.CellType:
    """A variable of a closure."""
    return types.CellType(*contents)


def make_type(kind: type, *parts: Any) -> Any:
    """A class that was sent by value; ``kind`` is that of the class itself."""
    return kind(*parts)


def make_enum(
    kind: Any,
    name: str,
    qualname: str,
    bases: tuple[type, ...],
    members: list[tuple[str, Any]],
    about: dict[str, Any],
) -> Any:
    """An enumeration that was sent by value; ``kind`` is that of its class."""
    attributes = kind.__prepare__(name, bases)
    for key, value in [*about.items(), *members]:
        attributes[key] = value
    made = kind(name, bases, attributes)
    made.__qualname__ = qualname
    return made


def from_script(path: str, name: str) -> Any:
    """What a script that is imported anew calls ``name``; the script itself if that is empty."""
    from daisy._functions import script  # noqa: PLC0415 - only if a script is imported anew

    value: Any = script.load(path)
    for part in name.split(".") if name else []:
        try:
            value = getattr(value, part)
        except AttributeError:
            from daisy._errors import SerializationError  # noqa: PLC0415 - only for failures

            raise SerializationError(
                f"{name!r} is not there when {path} is imported in a worker: it is made after, or "
                "only under, `if __name__ == '__main__'`; move it above, or into a module"
            ) from None
    return value
