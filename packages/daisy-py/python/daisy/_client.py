"""A worker's own connection to its run."""

from __future__ import annotations

import atexit
import os
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

from daisy import _core, logging
from daisy._block import Meter
from daisy._block_status import BlockStatus
from daisy._connect import connect
from daisy._context import Context, context_of_thread
from daisy._errors import AddressError, ConnectionLost, DaisyError
from daisy._settings import CONTEXT_VARIABLE


class Client:
    """A worker's own connection to its run, for functions without arguments and workers started by hand.

    Args:
        context: Where the run is; that of this thread or process (``DAISY_CONTEXT``) if it is not given.

    Raises:
        KeyError: If there is no context.
        AuthenticationError: If the run's secret is not the one in the context's file.
        DaisyError: If the context is not one that a run gave out.

    >>> import daisy
    >>> seen = []
    >>> def worker():
    ...     with daisy.Client() as client:
    ...         while True:
    ...             with client.acquire_block() as block:
    ...                 if block is None:
    ...                     break
    ...                 seen.append(block.block_id[1])
    >>> total, cell = daisy.Roi((0,), (40,)), daisy.Roi((0,), (10,))
    >>> task = daisy.Task("copy", total, cell, cell, worker, worker_processes=False)
    >>> bool(daisy.run_blockwise(task, progress=False, summary=False)), sorted(seen)
    (True, [0, 1, 2, 3])
    """

    def __init__(self, context: Context | None = None) -> None:
        own = context is None
        self.context = Context.from_env() if context is None else context
        self.task_id = self.context["task_id"]
        self._pid = os.getpid()
        # A thread shares its process with others, and whoever hands a context over owns the process.
        owns_process = own and context_of_thread() is None and CONTEXT_VARIABLE in os.environ
        self._connection = _connect(self.context, owns_process=owns_process)
        # A function that just returns must not lose the report of its last block.
        atexit.register(_close_if_alive, weakref.ref(self))
        logdir = self.context.get("logdir")
        if own and logdir is not None:
            logging.set_log_basedir(logdir or None)

    @property
    def connected(self) -> bool:
        """Whether the run was reached."""
        return self._connection is not None

    @property
    def worker_id(self) -> int:
        """The id that the run knows this worker by."""
        if self._connection is not None:
            return self._connection.worker_id
        return int(self.context.get("worker_id", 0))

    @property
    def host(self) -> str:
        """Host of the server."""
        return self._address()[0]

    @property
    def port(self) -> int:
        """Port of the server."""
        return self._address()[1]

    @property
    def resource_tracking(self) -> bool:
        """Whether blocks are measured."""
        return self._connection is not None and self._connection.measures

    def _address(self) -> tuple[str, int]:
        addresses = self.context.addresses
        if not addresses:
            return "", 0
        host, _, port = addresses[0].rpartition(":")
        return host.strip("[]"), int(port)

    @contextmanager
    def acquire_block(self) -> Iterator[_core.Block | None]:
        """Wait for a block; None if there will be no more.

        The block is reported as done at the end of ``with``, and as failed if an exception leaves it or its status
        is not ``SUCCESS``; the exception goes on. The next ``acquire_block`` works after it.

        Yields:
            The block, or None.
        """
        block = self._acquire()
        if block is None:
            yield None
            return
        meter = Meter() if self.resource_tracking else None
        try:
            yield block
        except BaseException as error:
            if os.getpid() == self._pid:
                block.status = BlockStatus.FAILED
                self._release(block, logging.emit_failure(block, error), meter)
            raise
        if block.status == BlockStatus.PROCESSING:
            block.status = BlockStatus.SUCCESS
        self._release(block, _fault_of(block), meter)

    def _acquire(self) -> _core.Block | None:
        if self._connection is None:
            return None
        try:
            return self._connection.acquire()
        except ConnectionLost as error:
            logging.logger.warning("worker %s: the run is gone: %s", self.worker_id, error)
            self._connection = None
            return None

    def _release(self, block: _core.Block, error: str | None, meter: Meter | None) -> None:
        if self._connection is None:
            return
        stats = block.stats or (meter.read() if meter is not None else None)
        self._connection.report(block, error, stats)

    def release_block(self, block: _core.Block) -> None:
        """Report on a block; its status says how it went (daisy 1.x). ``with`` does it by itself.

        Args:
            block: One that ``acquire_block`` gave: failed if its status is ``FAILED``, done otherwise.
        """
        failed = block.status == BlockStatus.FAILED
        self._release(block, _fault_of(block) if failed else None, None)

    def close(self) -> None:
        """Send what is left and say good-bye."""
        if self._connection is not None and os.getpid() == self._pid:
            self._connection.close()

    def __del__(self) -> None:
        connection = getattr(self, "_connection", None)
        if connection is not None and os.getpid() == self._pid:
            connection.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<daisy.Client of worker {self.worker_id} for task {self.task_id!r}>"


def _fault_of(block: _core.Block) -> str | None:
    """What is reported of a block that no exception has left: None if it is done."""
    if block.status == BlockStatus.SUCCESS:
        return None
    if block.status == BlockStatus.FAILED:
        return "the worker set block.status to FAILED"
    return f"the worker left block.status at {block.status.name}, expected SUCCESS"


def _close_if_alive(reference: weakref.ref[Client]) -> None:
    client = reference()
    if client is not None:
        client.close()


Client.__module__ = "daisy"


def _connect(context: Context, *, owns_process: bool) -> _core.WorkerConnection | None:
    worker_id = context.get("worker_id")
    token_file = context.get("token_file")
    if not token_file:
        raise DaisyError(
            "the context has no token_file: it is not one that a run of daisy 3 gave out"
        )
    if not os.path.exists(token_file):
        # The file is deleted at the end of the run.
        logging.logger.warning("the run of this context has ended: %s is gone", token_file)
        return None
    try:
        return connect(
            context,
            worker_id=None if worker_id is None else int(worker_id),
            owns_process=owns_process,
        )
    except (AddressError, ConnectionLost) as error:
        logging.logger.warning("the run cannot be reached: %s", error)
        return None
