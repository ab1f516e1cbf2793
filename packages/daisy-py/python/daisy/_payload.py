"""The worker's half of sending a function; light, because every worker imports it."""

from __future__ import annotations

# The part of pickle that is written in C: the module around it imports much that is not needed here.
from _pickle import loads as _loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def loads(payload: bytes) -> Any:
    """The function that ``_serialize.dumps`` made bytes of."""
    # It comes from the driver, through a pipe of its own.
    return _loads(payload)


def from_script(path: str, name: str) -> Any:
    """What a script that is imported anew calls ``name``; the script itself if that is empty."""
    from daisy import _script  # noqa: PLC0415 - only if a script is imported anew

    value: Any = _script.load(path)
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
