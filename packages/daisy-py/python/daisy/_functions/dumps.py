"""How a function gets to a worker.

Whatever a module can be imported for goes by reference: the worker has the ``sys.path`` of the driver. Only what
is defined in ``__main__`` (or in a module that cannot be imported) goes by value, with locks and thread-locals of its
own. If that does not work, the worker imports the script anew under the name ``__daisy_main__``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from daisy._errors import SerializationError
from daisy._functions.importable import main_file
from daisy._functions.parts import parts_of
from daisy._functions.pickler import dump
from daisy._functions.sendable import NotSendable, is_lock
from daisy.logging import logger


def dumps(function: Callable[..., Any], *, task_id: str) -> bytes:
    """The function as bytes for a worker.

    Raises:
        SerializationError: If it cannot be sent; names the object and the ways out.
    """
    try:
        try:
            payload = dump(function)
        except Exception:  # noqa: BLE001 - objects of users raise anything
            # It may be of a module, which has a lock, a socket, or a table: the worker's own will do.
            payload = dump(function, uses_modules=True)
    except NotSendable as error:
        # To import the script anew would make another, perhaps over the first: a file is emptied.
        raise _explain(function, task_id, error) from error
    except Exception as by_value:
        if main_file() is not None:
            with contextlib.suppress(Exception):  # the first error says more
                return dump(function, script=main_file())
        raise _explain(function, task_id, by_value) from by_value
    _warn_of_locks(function, task_id, payload)
    return payload


def _warn_of_locks(function: Any, task_id: str, payload: bytes) -> None:
    # Cheap to find that there is none, as nearly always.
    if b"threading" not in payload and b"_thread" not in payload:
        return
    locks = [place for place, value in parts_of(function) if is_lock(value)]
    if locks:
        logger.warning(
            "task %r: each worker process gets a lock of its own (%s), which keeps out other threads of "
            "that process, but no other worker",
            task_id,
            ", ".join(locks),
        )


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
    for place, value in parts_of(function):
        try:
            dump(value)
        except NotSendable as error:
            how = "is" if error.value is value else "holds"
            found.append(f"{place} {how} {error.what}")
        except Exception as error:  # noqa: BLE001 - this is the question
            reason = f"{type(error).__name__}: {error}"[:200]
            found.append(f"{place} is a {type(value).__name__} ({reason})")
    return found
