"""Compares the surface of this daisy with the published one, and knows the reason of each difference."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from typing import Any

import daisy
from compat.surface import MEMBERS, REQUIRED, SIGNATURES


def found(path: str) -> Any:
    """What ``daisy.<path>`` is, here."""
    value: Any = daisy
    for part in path.split("."):
        value = getattr(value, part)
    return value


def default_of(parameter: inspect.Parameter) -> str:
    """The default as text."""
    return REQUIRED if parameter.default is parameter.empty else repr(parameter.default)


def of_signature(name: str) -> Iterator[tuple[str, str]]:
    """Differences of one signature, each with what it is about."""
    named = [p for p in inspect.signature(found(name)).parameters.values() if p.kind not in
             (p.VAR_POSITIONAL, p.VAR_KEYWORD) and p.name != "self"]  # fmt: skip
    here = {parameter.name: default_of(parameter) for parameter in named}
    there = SIGNATURES[name]
    for place, (parameter, default) in enumerate(there.items()):
        if parameter not in here:
            yield f"{name}({parameter})", "not there"
        elif list(here)[place] != parameter:
            yield f"{name}({parameter})", f"at place {list(here).index(parameter)}, was {place}"
        elif here[parameter] != default:
            yield f"{name}({parameter})", f"default {here[parameter]}, was {default}"
    for parameter in here:
        if parameter not in there:
            yield f"{name}({parameter})", "new"


def all_differences() -> dict[str, str]:
    """Every difference of names, parameters, defaults and members."""
    importlib.import_module("daisy.logging")
    rows: dict[str, str] = {}
    for name in SIGNATURES:
        rows.update(of_signature(name))
    for name, members in MEMBERS.items():
        here = dir(found(name))
        rows.update({f"{name}.{member}": "not there" for member in members if member not in here})
    return rows
