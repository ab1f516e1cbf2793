"""The worker's half of sending a function; light, because every worker imports it."""

from __future__ import annotations

import pickle
from typing import Any

from daisy._errors import SerializationError


def loads(payload: bytes) -> Any:
    """The function that ``_serialize.dumps`` made bytes of."""
    return pickle.loads(payload)  # noqa: S301 - it comes from the driver through a pipe of its own


def from_script(path: str, name: str) -> Any:
    """What a script that is imported anew calls ``name``; the script itself if that is empty."""
    from daisy import _script  # noqa: PLC0415 - only if a script is imported anew

    value: Any = _script.load(path)
    for part in name.split(".") if name else []:
        try:
            value = getattr(value, part)
        except AttributeError:
            raise SerializationError(
                f"{name!r} is not there when {path} is imported in a worker: it is made after, or "
                "only under, `if __name__ == '__main__'`; move it above, or into a module"
            ) from None
    return value
