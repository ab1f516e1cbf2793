"""dill, but what can be imported is never copied, and what cannot always is."""

from __future__ import annotations

import builtins
import contextlib
import enum
import importlib
import io
import marshal
import pickle
import threading
import types
import warnings
from collections.abc import Callable
from typing import Any, cast

import dill

from daisy._functions.enumerations import reduce_enum
from daisy._functions.importable import MAIN, find_in_main, is_importable
from daisy._functions.loads import from_script, make_cell, make_function, make_type, names_of_module
from daisy._functions.parts import globals_used, module_of
from daisy._functions.sendable import replacement

_PROTOCOL = 5
_OF_IMPORT = ("__builtins__", "__loader__", "__spec__", "__cached__")
"""What the import system adds to a module."""


def dump(value: Any, script: str | None = None, *, uses_modules: bool = False) -> bytes:
    """A value as bytes, whatever it holds.

    Args:
        value: What is sent.
        script: A file that the worker imports anew for what it defines; without, that is sent by value.
        uses_modules: Functions that are made inside others, in modules that can be imported, use these modules in the
            worker; otherwise they bring along what they use of them, as it is now.

    Returns:
        What ``loads`` takes.
    """
    buffer = io.BytesIO()
    pickler = _Pickler(buffer, script, uses_modules=uses_modules)
    before = getattr(_dumping, "pickler", None)
    _dumping.pickler = pickler
    try:
        pickler.dump(value)
    finally:
        _dumping.pickler = before
    return buffer.getvalue()


_PARTS_OF_FUNCTION = 5
"""Code, globals, name, defaults and closure; ``make_function`` takes these."""


class _NamesOfModule:
    """Stands for the names of a module that the worker imports."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __reduce__(self) -> tuple[Any, ...]:
        return names_of_module, (self._module,)


_LIGHT = {
    id(getattr(dill._dill, name, None)): light
    for name, light in {
        "_create_cell": (make_cell, 1),
        "_create_type": (make_type, 4),  # its kind, name, bases, attributes
    }.items()
}
"""What dill rebuilds things with: what does the same without dill, and how much that can be given."""


class _Pickler(dill.Pickler):  # type: ignore[misc]
    """dill, but what can be imported is never copied, and what cannot always is."""

    def __init__(self, file: io.BytesIO, script: str | None, *, uses_modules: bool) -> None:
        super().__init__(file, protocol=_PROTOCOL, recurse=True, byref=False)
        self._script = script
        self._uses_modules = uses_modules

    def globals_of(self, function: types.FunctionType) -> dict[str, Any]:
        """The globals that go with a function."""
        return {} if self._module_used_by(function) else globals_used(function)

    def _module_used_by(self, function: types.FunctionType) -> str | None:
        return module_of(function) if self._uses_modules else None

    def save(self, obj: Any, save_persistent_id: bool = True) -> Any:
        if id(obj) in self.memo:
            return super().save(obj, save_persistent_id)
        if isinstance(obj, type) and getattr(builtins, obj.__name__, None) is obj:
            return self.save_global(obj)
        reduced = self._reduced(obj)
        if reduced is not None:
            return self.save_reduce(*reduced, obj=obj)
        return super().save(obj, save_persistent_id)

    def _reduced(self, obj: Any) -> tuple[Any, ...] | None:
        """What is done our way; the rest is dill's."""
        if isinstance(obj, types.ModuleType):
            return _reduce_module(obj, self._script)
        if isinstance(obj, enum.EnumType) and not is_importable(obj.__module__):
            return self._reduce_from_script(obj) or reduce_enum(cast("type[enum.Enum]", obj))
        if isinstance(obj, types.FunctionType | type):
            return self._reduce_from_script(obj)
        return replacement(obj)

    def save_global(self, obj: Any, name: str | None = None) -> None:
        # Objects may say that they are to be found under a name, as type variables do.
        if getattr(obj, "__module__", None) in MAIN:
            raise pickle.PicklingError(f"{obj!r} can only be named, and no worker finds that name")
        super().save_global(obj, name)

    def save_reduce(self, func: Any, args: Any, *rest: Any, obj: Any = None, **more: Any) -> Any:
        # What dill rebuilds functions with has light equals: workers need not import dill for most of them.
        if isinstance(obj, types.CodeType):
            # Code that was made by hand may have constants that no compiler makes.
            with contextlib.suppress(ValueError):
                func, args = marshal.loads, (marshal.dumps(obj),)
        elif func is getattr and args[0] is dill._dill and args[1:] == ("_setattr", setattr):
            args = (builtins, "setattr")
        elif func is dill._dill._create_function and isinstance(obj, types.FunctionType):
            module = self._module_used_by(obj)
            if module is not None:
                args = (args[0], _NamesOfModule(module), *args[2:])
            func = make_function if len(args) <= _PARTS_OF_FUNCTION else func
        else:
            light, most = _LIGHT.get(id(func), (func, 0))
            func = light if len(args) <= most else func
        return super().save_reduce(func, args, *rest, obj=obj, **more)

    def _reduce_from_script(self, obj: Any) -> tuple[Any, ...] | None:
        module, name = getattr(obj, "__module__", None), getattr(obj, "__qualname__", None)
        if not isinstance(module, str) or not isinstance(name, str):
            return None
        if module not in MAIN or self._script is None:
            return None
        found = find_in_main(obj, name, self._script)
        return None if found is None else (from_script, (self._script, found))


_locate_of_dill: Callable[..., bool] = dill._dill._locate_function


def _locate_function(obj: Any, pickler: Any = None) -> bool:
    """Whether dill may send the object by name.

    dill asks this about any module it has loaded; ours must only name what a fresh interpreter finds.
    """
    if isinstance(pickler, _Pickler):
        module = getattr(obj, "__module__", None)
        if not isinstance(module, str) or module in MAIN or not is_importable(module):
            return module == "builtins" and _locate_of_dill(obj, pickler)
    return _locate_of_dill(obj, pickler)


dill._dill._locate_function = _locate_function


_dumping = threading.local()
_globals_of_dill: Callable[..., dict[str, Any]] = dill.detect.globalvars


def _globalvars(func: Any, recurse: bool = True, builtin: bool = False) -> dict[str, Any]:
    """The globals that go with a function.

    dill's own search never ends for functions that reach themselves through a closure, as those do that are
    defined inside another and call themselves.
    """
    pickler: _Pickler | None = getattr(_dumping, "pickler", None)
    if pickler is not None and isinstance(func, types.FunctionType):
        return pickler.globals_of(func)
    return _globals_of_dill(func, recurse, builtin)


dill.detect.globalvars = _globalvars


class _Warnings:
    """Where dill warns that it sends a name that no worker knows, this is an error."""

    def __getattr__(self, name: str) -> Any:
        return getattr(warnings, name)

    def warn(self, message: Any, category: Any = None, *rest: Any, **more: Any) -> None:
        if getattr(_dumping, "pickler", None) is not None and category is dill.PicklingWarning:
            reason = "it refers to itself, or is not found under its own name"
            raise pickle.PicklingError(f"{message} {reason}")
        warnings.warn(message, category, *rest, **more)


dill._dill.warnings = _Warnings()


def _reduce_module(module: types.ModuleType, script: str | None) -> tuple[Any, ...] | None:
    name = module.__name__
    if name in MAIN:
        return None if script is None else (from_script, (script, ""))
    if is_importable(name):
        return (importlib.import_module, (name,))
    if not str(getattr(module, "__file__", None) or ".py").endswith(".py"):
        return None  # what is compiled has no value that could be sent
    state = {key: value for key, value in vars(module).items() if key not in _OF_IMPORT}
    return (types.ModuleType, (name,), state)
