"""What runs in a worker: a process that the driver started, a thread of it, or one started by hand.

The driver's own workers run :func:`main` with what came through their input; ``daisy worker`` starts one by hand.
"""

# A worker imports little before it must.
# ruff: noqa: PLC0415

from __future__ import annotations

import os
import signal
import sys
import time

from daisy import _core, _output
from daisy._errors import AddressError, ConnectionLost, DaisyError, RefusedError
from daisy._settings import PARENT_VARIABLE

# typing takes as long to import as everything else here.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_PATIENCE_SECONDS = 1.0

BOOTSTRAP = (
    "import sys,marshal;"
    "f=sys.stdin.buffer;"
    "h=marshal.loads(f.read(int.from_bytes(f.read(8),'big')));"
    "v='%d.%d'%sys.version_info[:2];"
    "v==h['python'] or sys.exit('daisy: this worker runs Python '+v+' ('+sys.executable+'), expected '+h['python']+"
    "' as in the driver, whose functions no other version understands: give the launcher python=...');"
    "sys.path[:]=h['path'];"
    "from daisy.worker import main;"
    "main(h)"
)
"""Program of a worker's interpreter: takes over the driver's ``sys.path`` before it imports anything else."""


def main(header: dict[str, Any]) -> None:
    """Run the worker of this process.

    Args:
        header: ``parent`` (process id of the driver), ``payload`` (the function), and settings.
    """
    # Workers of other machines have a parent only if it asks them to end with it.
    parent = header["parent"] or (os.getppid() if PARENT_VARIABLE in os.environ else 0)
    if parent and not _core.end_with_parent(parent):
        os._exit(1)  # the driver ended before we could be told of it
    _output.settle()
    # Ctrl-C is for the driver. A handler and not SIG_IGN, which programs started from here would inherit.
    signal.signal(signal.SIGINT, lambda *_: None)
    configure_logging(header.get("logging"))
    from daisy._functions.loads import loads

    work(lambda: loads(header["payload"]), has_driver=bool(header["parent"]))


def work(load: Callable[[], Any], *, has_driver: bool) -> None:
    """Be the worker that the environment says.

    Args:
        load: Returns the function of the task.
        has_driver: Whether a driver on this machine started it, and sees how it ends.
    """
    from daisy._context import Context

    context = Context.from_env()
    if not has_driver and not os.path.exists(context["token_file"]):
        print("daisy: the run has ended: there is nothing to do", file=sys.stderr)
        return
    function = load()
    try:
        run_function(function, context, owns_process=True)
    except DaisyError as error:
        # One of none of the others: the token cannot be read.
        is_cut_off = isinstance(error, AddressError | ConnectionLost | RefusedError)
        if not is_cut_off and type(error) is not DaisyError:
            raise
        if not has_driver:
            # A job that started after its run was over is no failure.
            print(f"daisy: the run cannot be reached: {error}", file=sys.stderr)
        elif not _is_over(context["token_file"]):
            raise


def _is_over(token_file: str) -> bool:
    """Whether the driver of this machine has ended its run, before this worker came; nobody waits for it then.

    A driver that ends a run removes the token, soon after it can no longer be reached.
    """
    until = time.monotonic() + _PATIENCE_SECONDS
    while os.path.exists(token_file):
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def run_function(
    function: Callable[..., Any],
    context: Any,
    *,
    owns_process: bool,
    on_connection: Callable[[_core.WorkerConnection], None] | None = None,
) -> None:
    """Run the function of a task as this worker: once with nothing, or for each block."""
    from daisy._connect import connect
    from daisy._context import set_context_of_thread

    kind = context["kind"]
    if kind != "block":
        if not owns_process:
            set_context_of_thread(context)
        if kind == "worker_with_context":
            returned = function(context=context)
        else:
            returned = function()
        _core.refuse_unfinished(returned, "function of the task")
        _note_return(context)
        return
    connection = connect(context, worker_id=int(context["worker_id"]), owns_process=owns_process)
    if on_connection is not None:
        on_connection(connection)
    if owns_process:
        process_with(connection, function)
        return
    from daisy import _thread_loop

    try:
        _thread_loop.process_blocks(connection, function, _Failures())
    finally:
        connection.close()


def _note_return(context: Any) -> None:
    """Tell the driver that a launch function has returned: its worker may be in a queue still."""
    try:
        with open(returned_path(context["token_file"], context["worker_id"]), "wb"):
            pass
    except OSError:
        pass  # the run has ended, and its folder with it


def returned_path(token_file: str, worker_id: str) -> str:
    """The file that says that a launch function has returned; it lies beside the run's token."""
    return f"{token_file}.returned-{worker_id}"


def process_with(connection: _core.WorkerConnection, function: Callable[..., Any]) -> int:
    """Call the function with each block until there are no more; returns how many."""
    meter = None
    if connection.measures:
        from daisy._block import Meter

        meter = Meter
    try:
        return connection.process_blocks(function, meter, _Failures())
    finally:
        connection.close()


class _Failures:
    """Turns the failure of a block into the text that is reported."""

    def __init__(self) -> None:
        self._pid = os.getpid()

    def __call__(self, block: _core.Block, error: BaseException | None, otherwise: str) -> str:
        if os.getpid() != self._pid:
            _end_fork(error)
        from daisy import logging

        if error is None:
            return otherwise
        return logging.emit_failure(block, error)


def _end_fork(error: BaseException | None) -> None:
    """End a process that was forked inside a block and came out of it: it is not the worker."""
    code = 0
    if isinstance(error, SystemExit):
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
    elif error is not None:
        import traceback

        traceback.print_exception(error)
        code = 1
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    os._exit(code)


def configure_logging(settings: dict[str, Any] | None) -> None:
    """Send log records to the worker's error output if the driver shows any."""
    if settings is None:
        return
    import logging

    logging.basicConfig(level=settings["root"], format=settings["format"])
    logging.getLogger("daisy").setLevel(settings["daisy"])


def __getattr__(name: str) -> Any:
    if name == "Worker":  # a class of daisy 1.x lived here
        from daisy._compat.workers import Worker

        return Worker
    raise AttributeError(f"module 'daisy.worker' has no attribute {name!r}")
