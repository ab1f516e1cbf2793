"""Durations and amounts of memory as users of job engines write them."""

from __future__ import annotations

import re
from datetime import timedelta

from daisy._task_arguments import refuse

Time = float | int | str | timedelta | None
Memory = int | str | None

_UNITS = {"": 1, "M": 1, "G": 1024, "T": 1024**2}


def seconds(name: str, value: Time) -> float | None:
    """A duration in seconds: a number of them, a timedelta, or ``[D-]H:MM:SS``, ``H:MM``."""
    expected = "seconds, a timedelta, or text such as '4:00:00' or '1-12:00:00'"
    if value is None:
        return None
    if isinstance(value, timedelta):
        number = value.total_seconds()
    elif isinstance(value, int | float) and not isinstance(value, bool):
        number = float(value)
    elif isinstance(value, str):
        match = re.fullmatch(r"(?:(\d+)-)?(\d+):(\d\d)(?::(\d\d))?", value.strip())
        if match is None:
            refuse(ValueError, name, value, expected)
        days, hours, minutes, rest = (int(part or 0) for part in match.groups())
        number = ((days * 24 + hours) * 60 + minutes) * 60.0 + rest
    else:
        refuse(TypeError, name, value, expected)
    if not 0 < number < float("inf"):
        refuse(ValueError, name, value, expected + ", more than nothing")
    return number


def megabytes(name: str, value: Memory) -> int:
    """Memory in MiB: a number of them, or text such as ``'8G'``; 0 for None."""
    expected = "MiB, or text such as '500M' or '8G'"
    if value is None:
        return 0
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([MGT]?)(?:i?B)?", str(value).strip(), re.IGNORECASE)
    if isinstance(value, bool) or match is None or float(match[1]) <= 0:
        refuse(ValueError, name, value, expected)
    return max(1, round(float(match[1]) * _UNITS[match[2].upper()]))
