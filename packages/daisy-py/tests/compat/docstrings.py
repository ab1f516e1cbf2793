"""The public API, object by object, and what its docstrings leave out."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import daisy

# Modules that people import from; what they list is public. Those of daisy 1.x only say where things are now.
MODULES = ("daisy", "daisy.errors", "daisy.launchers", "daisy.logging", "daisy.testing")

# Objects without an example of their own, each with the reason.
WITHOUT_EXAMPLE = {
    "daisy.Coordinate": "of funlib.geometry",
    "daisy.Roi": "of funlib.geometry",
    "daisy.get_done_marker_basedir": "a former name: it warns, and says what to write",
    "daisy.set_done_marker_basedir": "a former name: it warns, and says what to write",
    "daisy.Client.close": "`with daisy.Client()` does it",
    "daisy.Client.release_block": "a word of 1.x: `with client.acquire_block()` does it",
    "daisy.Context.from_env": "needs the environment of a worker; daisy.Client() calls it",
    "daisy.RunResult.save_html": "needs plotly: test_report.py looks at what it writes",
    "daisy.launchers.Launcher": "a protocol: docs/how-to/launcher.md writes one, and that page is run",
    "daisy.testing.LauncherBench": "docs/how-to/launcher.md tests a launcher with it, and that page is run",
    "daisy.testing.launcher_conformance": "the checks take a minute; the tests of the launchers run them",
}
# Classes of which runs make the objects, or Python: nobody reads what they are made from.
NOT_MADE_BY_USERS = (
    "daisy.BlockStatus",
    "daisy.launchers.State",
    "daisy.RunResult",
    "daisy.TaskState",
    "daisy.Forecast",
)
# Classes whose methods daisy calls: what they mean stands in daisy.launchers.Launcher.
CALLED_BY_DAISY = tuple(
    f"daisy.launchers.{name}" for name in ("Dask", "GridEngine", "Lsf", "Pbs", "Ray", "Slurm")
)
FOREIGN = ("funlib",)


@dataclass(frozen=True)
class Public:
    """Something that a user can name."""

    name: str
    object: Any
    owner: Any = None
    """The class that it is a method of."""

    @property
    def docstring(self) -> str:
        """What ``help()`` shows of it."""
        return inspect.getdoc(self.object) or ""

    @property
    def is_class(self) -> bool:
        """Whether it is made by calling it."""
        return inspect.isclass(self.object)


def public() -> Iterator[Public]:
    """Every public class and function, and the public methods of the classes."""
    for module_name in MODULES:
        module = importlib.import_module(module_name)
        for name in listed(module):
            value = getattr(module, name)
            if not inspect.isclass(value) and not inspect.isroutine(value):
                continue
            yield Public(f"{module_name}.{name}", value)
            full = f"{module_name}.{name}"
            if inspect.isclass(value) and not _is_foreign(value) and full not in CALLED_BY_DAISY:
                yield from _methods(full, value)


def listed(module: Any) -> list[str]:
    """The names that a module offers."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    ]


def _is_foreign(value: Any) -> bool:
    return str(getattr(value, "__module__", "")).startswith(FOREIGN)


def _methods(prefix: str, cls: type) -> Iterator[Public]:
    for base in cls.__mro__:
        if not base.__module__.startswith("daisy"):
            continue
        for name in vars(base):
            value = getattr(base, name)
            hidden = name.startswith("_") or (name in vars(cls) and base is not cls)
            if not hidden and inspect.isroutine(value) and callable(value):
                yield Public(f"{prefix}.{name}", value, cls)


def faults(item: Public) -> list[str]:
    """What the docstring of ``item`` does not say, in words."""
    if _is_foreign(item.object):
        return []
    text = item.docstring
    if not text:
        return [f"{item.name} has no docstring"]
    said = [f"{item.name}: parameter {name!r} is not said" for name in _unsaid_parameters(item)]
    if _returns_something(item) and not re.search(r"^Returns:?$|^Yields:?$|:returns?:", text, re.M):
        said.append(f"{item.name}: there is no Returns section")
    for error in sorted(_raised(item)):
        if not re.search(rf"^Raises:?$.*\b{error}\b", text, re.M | re.S):
            said.append(f"{item.name}: it raises {error}, which no Raises section says")
    return said


def _parameters(item: Public) -> list[str]:
    if item.name in NOT_MADE_BY_USERS or not callable(item.object):
        return []
    if item.is_class and issubclass(item.object, BaseException):
        return []  # a message
    try:
        signature = inspect.signature(item.object)
    except ValueError:  # an exception of the standard library's making
        return []
    names = [
        name
        for name, parameter in signature.parameters.items()
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]
    return [name for name in names if name not in ("self", "cls") and not name.startswith("_")]


def _unsaid_parameters(item: Public) -> list[str]:
    section = re.search(
        r"^(?:Args:|Parameters\n-+)\n(.*?)(?=^\w[^\n]*:\n|^\w+\n---|\Z)",
        item.docstring,
        re.M | re.S,
    )
    said = section[1] if section else ""
    if (
        item.is_class and "Attributes:" in item.docstring
    ):  # of a dataclass: they are what it is made of
        said += item.docstring.split("Attributes:", 1)[1]
    return [name for name in _parameters(item) if not re.search(rf"^.*\b{name}\b", said, re.M)]


def _returns_something(item: Public) -> bool:
    """Whether there is a value that the first line does not name already: with parameters, it takes a section."""
    if item.is_class or not _parameters(item):
        return False
    annotation = getattr(item.object, "__annotations__", {}).get("return", "None")
    return annotation not in (None, "None", "NoReturn")


def _raised(item: Public) -> set[str]:
    """The exceptions that the code of ``item`` raises itself."""
    if getattr(item.object, "_is_protocol", False):
        return set()  # nothing of it is made
    function = item.object.__init__ if item.is_class else item.object
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError):
        return set()  # of the extension
    raised = {
        ast.unparse(node.exc.func)
        for node in ast.walk(tree)
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)
    }
    return {name for name in raised if name[0].isupper()}


def has_example(item: Public) -> bool:
    """Whether an example shows it: its own, or for a method that of its class."""
    if inspect.isclass(item.object) and issubclass(item.object, daisy.DaisyError):
        return True  # daisy raises them: docs/reference/errors.md has each with its cause
    if ">>>" in item.docstring or item.name in WITHOUT_EXAMPLE:
        return True
    if item.owner is None or f"{item.name.rpartition('.')[0]}" in WITHOUT_EXAMPLE:
        return item.owner is not None
    method = item.name.rpartition(".")[2]
    if method.startswith("on_"):
        return True  # a run calls them
    return any(
        re.search(rf">>>.*\.{method}\(|\.\.\..*\.{method}\(", line)
        for line in (inspect.getdoc(item.owner) or "").splitlines()
    )
