"""How a function gets to a worker.

Whatever a module can be imported for goes by reference: the worker has the ``sys.path`` of the driver. Only what
is defined in ``__main__`` (or in a module that cannot be imported) goes by value, with locks and thread-locals of its
own. If that does not work, the worker imports the script anew under the name ``__daisy_main__``.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import sys
import types
from collections.abc import Callable
from typing import Any

import dill

from daisy._errors import SerializationError
from daisy._payload import from_script
from daisy._sendable import NotSendable, is_lock, replacement
from daisy.logging import logger

_MAIN = ("__main__", "__mp_main__", "__daisy_main__")
_PROTOCOL = 5
_OF_IMPORT = ("__builtins__", "__loader__", "__spec__", "__cached__")
"""What the import system adds to a module."""


def dumps(function: Callable[..., Any], *, task_id: str) -> bytes:
    """The function as bytes for a worker.

    Raises:
        SerializationError: If it cannot be sent; names the object and the ways out.
    """
    try:
        payload = _dump(function)
    except NotSendable as error:
        # To import the script anew would make another, perhaps over the first: a file is emptied.
        raise _explain(function, task_id, error) from error
    except Exception as by_value:  # objects of users raise anything
        if main_file() is not None:
            with contextlib.suppress(Exception):  # the first error says more
                return _dump(function, script=main_file())
        raise _explain(function, task_id, by_value) from by_value
    _warn_of_locks(function, task_id, payload)
    return payload


def _warn_of_locks(function: Any, task_id: str, payload: bytes) -> None:
    # Cheap to find that there is none, as nearly always.
    if b"threading" not in payload and b"_thread" not in payload:
        return
    locks = [place for place, value in _parts(function) if is_lock(value)]
    if locks:
        logger.warning(
            "task %r: each worker process gets a lock of its own (%s), which keeps out other threads of "
            "that process, but no other worker",
            task_id,
            ", ".join(locks),
        )


def _dump(value: Any, script: str | None = None) -> bytes:
    buffer = io.BytesIO()
    _Pickler(buffer, script).dump(value)
    return buffer.getvalue()


class _Pickler(dill.Pickler):  # type: ignore[misc]
    """dill, but what can be imported is never copied, and what cannot always is."""

    def __init__(self, file: io.BytesIO, script: str | None) -> None:
        super().__init__(file, protocol=_PROTOCOL, recurse=True, byref=False)
        self._script = script

    def save(self, obj: Any, save_persistent_id: bool = True) -> Any:
        if isinstance(obj, types.ModuleType):
            reduced = _reduce_module(obj, self._script)
            if reduced is not None and id(obj) not in self.memo:
                return self.save_reduce(*reduced, obj=obj)
        elif isinstance(obj, types.FunctionType | type):
            reduced = self._reduce_from_script(obj)
            if reduced is not None and id(obj) not in self.memo:
                return self.save_reduce(*reduced, obj=obj)
        else:
            reduced = replacement(obj)
            if reduced is not None and id(obj) not in self.memo:
                return self.save_reduce(*reduced, obj=obj)
        return super().save(obj, save_persistent_id)

    def _reduce_from_script(self, obj: Any) -> tuple[Any, ...] | None:
        module, name = getattr(obj, "__module__", None), getattr(obj, "__qualname__", None)
        if not isinstance(module, str) or not isinstance(name, str):
            return None
        if module not in _MAIN or self._script is None:
            return None
        found = _find_in_main(obj, name)
        return None if found is None else (from_script, (self._script, found))


_locate_of_dill: Callable[..., bool] = dill._dill._locate_function


def _locate_function(obj: Any, pickler: Any = None) -> bool:
    """Whether dill may send the object by name.

    dill asks this about any module it has loaded; ours must only name what a fresh interpreter finds.
    """
    if isinstance(pickler, _Pickler):
        module = getattr(obj, "__module__", None)
        if not isinstance(module, str) or module in _MAIN or not _is_importable(module):
            return module == "builtins" and _locate_of_dill(obj, pickler)
    return _locate_of_dill(obj, pickler)


dill._dill._locate_function = _locate_function


def _reduce_module(module: types.ModuleType, script: str | None) -> tuple[Any, ...] | None:
    name = module.__name__
    if name in _MAIN:
        return None if script is None else (from_script, (script, ""))
    if _is_importable(name):
        return (importlib.import_module, (name,))
    if not str(getattr(module, "__file__", None) or ".py").endswith(".py"):
        return None  # what is compiled has no value that could be sent
    state = {key: value for key, value in vars(module).items() if key not in _OF_IMPORT}
    return (types.ModuleType, (name,), state)


def _is_importable(name: str) -> bool:
    """Whether a fresh interpreter with our ``sys.path`` finds the module."""
    known = _importable.get(name)
    if known is None:
        known = _importable[name] = _looks_importable(name)
    return known


_importable: dict[str, bool] = {}


def _looks_importable(name: str) -> bool:
    if name in _MAIN:
        return False
    parent, _, _ = name.rpartition(".")
    if name.partition(".")[0] in sys.stdlib_module_names:
        return True  # some are frozen, or made by others: os.path
    module = sys.modules.get(name)
    if parent and not _is_importable(parent):
        return False
    path = getattr(sys.modules.get(parent), "__path__", None) if parent else None
    for finder in sys.meta_path:
        find_spec = getattr(finder, "find_spec", None)
        try:
            spec = None if find_spec is None else find_spec(name, path, None)
        except Exception:  # noqa: BLE001 - finders of others may raise anything
            continue
        if spec is not None:
            here = getattr(module, "__file__", None)
            # Something else of that name on the path is not this module.
            return here is None or spec.origin is None or _same_file(here, spec.origin)
    # Made while its parent was imported, as os.path is.
    return bool(parent) and module is not None and getattr(module, "__spec__", None) is not None


def _same_file(one: str, other: str) -> bool:
    return one == other or os.path.realpath(one) == os.path.realpath(other)


def _find(module: str, name: str) -> Any:
    value: Any = sys.modules.get(module)
    for part in name.split("."):
        value = getattr(value, part, None)
        if value is None:
            return None
    return value


def _find_in_main(obj: Any, name: str) -> str | None:
    """The dotted name under which the script has the object."""
    main = sys.modules.get("__main__")
    if _find("__main__", name) is obj:
        return name
    return next((key for key, value in vars(main).items() if value is obj), None) if main else None


def main_file() -> str | None:
    """The script that runs as ``__main__``, if it is a file that can be run again."""
    main = sys.modules.get("__main__")
    file = getattr(main, "__file__", None)
    if not isinstance(file, str) or getattr(main, "__spec__", None) is not None:
        # ``python -m``: the module can be imported under its own name, but not run twice safely.
        file = getattr(getattr(main, "__spec__", None), "origin", file)
    if not isinstance(file, str) or not file.endswith(".py"):
        return None
    path = os.path.abspath(file)
    return path if os.path.exists(path) else None


def _explain(function: Any, task_id: str, error: Exception) -> SerializationError:
    culprits = _culprits(function)
    if culprits:
        named = "; ".join(culprits)
    elif isinstance(error, NotSendable):
        named = f"it reaches {error.what}"
    else:
        named = f"{type(error).__name__}: {error}"
    failure = SerializationError(
        f"the function of task {task_id!r} cannot be sent to a worker process: {named}.\n"
        "Ways out: make the object inside the function; move the function and what it uses to a module "
        "that can be imported; or run workers as threads with worker_processes=False."
    )
    failure.details = {"task": task_id, "got": named}
    return failure


def _culprits(function: Any) -> list[str]:
    found = []
    for place, value in _parts(function):
        try:
            _dump(value)
        except NotSendable as error:
            how = "is" if error.value is value else "holds"
            found.append(f"{place} {how} {error.what}")
        except Exception as error:  # noqa: BLE001 - this is the question
            reason = f"{type(error).__name__}: {error}"[:200]
            found.append(f"{place} is a {type(value).__name__} ({reason})")
    return found


def _parts(function: Any) -> list[tuple[str, Any]]:
    """What a function brings along, with a name for each part."""
    parts: list[tuple[str, Any]] = []
    if hasattr(function, "func") and hasattr(function, "keywords"):  # functools.partial
        parts += [(f"argument {i} of the partial", value) for i, value in enumerate(function.args)]
        parts += [(f"argument {key!r} of the partial", v) for key, v in function.keywords.items()]
        return parts + _parts(function.func)
    if isinstance(function, types.MethodType):
        owner = function.__self__
        attributes = getattr(owner, "__dict__", {})
        parts += [(f"attribute {k!r} of {type(owner).__name__}", v) for k, v in attributes.items()]
        return parts + _parts(function.__func__)
    if not isinstance(function, types.FunctionType):
        attributes = getattr(function, "__dict__", {})
        return [
            (f"attribute {key!r} of {type(function).__name__}", v) for key, v in attributes.items()
        ]
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    for name, cell in cells:
        try:
            parts.append((f"variable {name!r} of the closure", cell.cell_contents))
        except ValueError:
            continue  # not assigned yet
    used = dill.detect.globalvars(function, recurse=True, builtin=False)
    parts += [(f"global {name!r}", value) for name, value in used.items()]
    parts += [(f"default {i}", value) for i, value in enumerate(function.__defaults__ or ())]
    parts += [(f"default of {k!r}", v) for k, v in (function.__kwdefaults__ or {}).items()]
    return parts
