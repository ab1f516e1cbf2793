"""What a function will import as soon as it is called."""

from __future__ import annotations

import functools
import importlib
import types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_MOST_FUNCTIONS = 100


def import_ahead(function: Any) -> None:
    """Import what a function, and those that it may call, import before they decide anything.

    Workers that are forked after it need not do that, one by one. What cannot be imported is left to the call,
    which fails as it would have.
    """
    for code in _codes(function):
        for name, taken in _first_imports(code):
            try:
                module = importlib.import_module(name)
                for part in taken:
                    if not hasattr(module, part):
                        importlib.import_module(f"{name}.{part}")
            except Exception:  # noqa: BLE001, S110 - the block that needs it says so
                pass


def _first_imports(code: types.CodeType) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Modules that are imported before the first branch, and what is taken from each."""
    if not code.co_names:
        return
    import dis  # noqa: PLC0415 - only for code that names something

    constants: list[object] = []
    for instruction in dis.get_instructions(code):
        if instruction.opcode in dis.hasjrel or instruction.opcode in dis.hasjabs:
            return
        if instruction.opname == "IMPORT_NAME":
            # Below it on the stack are the level of a relative import, and what is taken from the module.
            level, taken = [*constants[-2:], 0, None][:2]
            if level == 0:
                parts = taken if isinstance(taken, tuple) and taken != ("*",) else ()
                yield str(instruction.argval), parts
        elif instruction.opname.startswith("LOAD_"):
            constants.append(instruction.argval)


def _codes(function: Any) -> Iterator[types.CodeType]:
    """The code of a function, and of the functions of its module that it names."""
    left, seen = [function], set[int]()
    while left and len(seen) < _MOST_FUNCTIONS:
        found = _plain(left.pop())
        if not isinstance(found, types.FunctionType) or id(found) in seen:
            continue
        seen.add(id(found))
        yield found.__code__
        names = found.__globals__
        left += [names[name] for name in found.__code__.co_names if name in names]
        for cell in found.__closure__ or ():
            try:
                left.append(cell.cell_contents)
            except ValueError:
                continue  # nothing is in it yet
        wrapped = getattr(found, "__wrapped__", None)
        if wrapped is not None:
            left.append(wrapped)


def _plain(value: Any) -> Any:
    """The function in a partial, a method or a callable object."""
    while isinstance(value, functools.partial):
        value = value.func
    if isinstance(value, types.MethodType):
        return value.__func__
    if isinstance(value, types.FunctionType | type | types.ModuleType):
        return value
    return getattr(type(value), "__call__", None)  # noqa: B004 - to look at it, not to test
