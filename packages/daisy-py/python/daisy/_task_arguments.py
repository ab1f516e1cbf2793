"""Conversion of the arguments of ``Task``: what is wrong is said here, with argument, got and expected."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from datetime import timedelta
from typing import NoReturn

_MOST_SECONDS = 10**9
"""A timeout of more than thirty years is none."""


def refuse(kind: type[Exception], argument: str, got: object, expected: str) -> NoReturn:
    """Raise ``kind`` with a message of the common form."""
    raise kind(f"argument '{argument}': expected {expected}, got {got!r}")


def name(value: object) -> str:
    """The name of a task; what it may be made of is checked by the core."""
    if not isinstance(value, str):
        refuse(TypeError, "task_id", value, "a str")
    return value


def flag(argument: str, value: object) -> bool:
    """A boolean; NumPy's are fine, other values are not."""
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
        return bool(value)
    refuse(TypeError, argument, value, "True or False")


def count(argument: str, value: object, *, least: int, most: int = 2**31 - 1) -> int:
    """An integer between ``least`` and ``most``."""
    expected = f"an integer of at least {least}"
    if isinstance(value, bool):
        refuse(TypeError, argument, value, expected)
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        refuse(TypeError, argument, value, expected)
    if not least <= number <= most:
        refuse(ValueError, argument, value, expected if number < least else f"at most {most}")
    return number


def timeout_seconds(value: object) -> float | None:
    """Seconds of a timeout given as number or ``timedelta``; None for no limit."""
    if value is None:
        return None
    expected = "a number of seconds above 0, a timedelta, or None for no limit"
    if isinstance(value, timedelta):
        seconds = value.total_seconds()
    elif isinstance(value, bool | str):
        refuse(TypeError, "timeout", value, expected)
    else:
        try:
            seconds = float(value)  # type: ignore[arg-type]
        except (TypeError, OverflowError):
            refuse(TypeError, "timeout", value, expected)
    if math.isnan(seconds) or seconds <= 0:
        refuse(ValueError, "timeout", value, expected)
    return seconds if seconds < _MOST_SECONDS else None


def requirements(argument: str, value: object) -> dict[str, int]:
    """Resources by name."""
    if value is None:
        return {}
    expected = "a dict of resource name to amount, such as {'gpu': 1}"
    if not isinstance(value, Mapping):
        refuse(TypeError, argument, value, expected)
    amounts: dict[str, int] = {}
    for key, amount in value.items():
        if not isinstance(key, str):
            refuse(TypeError, argument, value, expected)
        amounts[key] = count(f"{argument}[{key!r}]", amount, least=0, most=2**63 - 1)
    return amounts
