"""What a fresh interpreter with our ``sys.path`` can import."""

from __future__ import annotations

import ast
import os
import sys
import tokenize
from functools import lru_cache
from typing import Any

MAIN = ("__main__", "__mp_main__", "__daisy_main__")
"""Names of the module that a program starts with; a worker has another under that name."""


def is_importable(name: str) -> bool:
    """Whether a fresh interpreter with our ``sys.path`` finds the module."""
    known = _importable.get(name)
    if known is None:
        known = _importable[name] = _looks_importable(name)
    return known


_importable: dict[str, bool] = {}


def _looks_importable(name: str) -> bool:
    if name in MAIN:
        return False
    parent, _, _ = name.rpartition(".")
    if name.partition(".")[0] in sys.stdlib_module_names:
        return True  # some are frozen, or made by others: os.path
    module = sys.modules.get(name)
    if parent and not is_importable(parent):
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


def find_in_main(obj: Any, name: str, script: str) -> str | None:
    """The dotted name under which the script has the object when it is imported anew."""
    main = sys.modules.get("__main__")
    if main is None:
        return None
    known = defined_on_import(script)
    if _find("__main__", name) is obj and (known is None or name.partition(".")[0] in known):
        return name
    names = (key for key, value in vars(main).items() if value is obj)
    return next((key for key in names if known is None or key in known), None)


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


@lru_cache(maxsize=1)
def defined_on_import(path: str) -> frozenset[str] | None:
    """The names that a script has once it is imported; None if only that would tell.

    What stands under ``if __name__ == "__main__"`` is not among them.
    """
    with tokenize.open(path) as file:
        tree = ast.parse(file.read(), path)
    names: set[str] = set()
    left: list[ast.AST] = [*tree.body]
    while left:
        node = left.pop()
        if isinstance(node, ast.If) and "__name__" in ast.dump(node.test):
            left += node.orelse
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
            left += (part for part in ast.walk(node) if isinstance(part, ast.Global))
        elif isinstance(node, ast.alias):
            if node.name == "*":
                return None
            names.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.Global):
            names.update(node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        else:
            left += ast.iter_child_nodes(node)
    return frozenset(names)
