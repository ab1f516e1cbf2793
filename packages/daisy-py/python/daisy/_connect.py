"""From a context to a connection; light, because every worker imports it."""

from __future__ import annotations

import os

from daisy import _core, _fork
from daisy._settings import CAPACITY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from daisy._context import Context


def _note_fork() -> None:
    """A child that is forked inside a block must not speak for the worker."""
    if not _fork.makes_workers:
        _core.note_fork()


os.register_at_fork(after_in_child=_note_fork)


def connect(
    context: Context, *, worker_id: int | None, owns_process: bool
) -> _core.WorkerConnection:
    """A connection to the run of this context.

    Raises:
        AddressError, AuthenticationError, ProtocolError: The run cannot be reached, or is another.
    """
    has_notice = False
    if owns_process and context.get("grace") is not None:
        from daisy import _notice  # noqa: PLC0415 - only workers of job engines are given notice

        has_notice = _notice.prepare(context)
    try:
        connection = _core.WorkerConnection(
            addresses=context.addresses,
            token_file=context["token_file"],
            task_id=context["task_id"],
            worker_id=worker_id,
            capacity=CAPACITY,
            owns_process=owns_process,
        )
    except BaseException:
        if has_notice:
            _notice.forget()
        raise
    if has_notice:
        _notice.watch(connection, context)
    return connection
