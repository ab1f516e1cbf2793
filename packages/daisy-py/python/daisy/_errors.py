"""What daisy raises.

::

    ValueError, TypeError          a wrong argument: where it was written
    DaisyError (a RuntimeError, which is what daisy 2.0.0 raised)
    ├── AddressError               an address that cannot be bound, resolved or reached
    ├── ProtocolError              the peer speaks another protocol or version
    ├── AuthenticationError        the peer does not know the run's token
    ├── ConnectionLost             the connection is gone
    ├── RefusedError               something the state does not allow, such as releasing a block twice
    ├── StoreError                 a tracking store that cannot be used
    │   ├── StoreMismatch          it was written for another geometry
    │   └── StoreLocked            another run is using it
    ├── SerializationError         a function that cannot be sent to a worker
    ├── LauncherError              workers that could not be started
    │   └── LauncherUnavailable    a launcher that cannot work here at all
    └── RunFailed                  from ``RunResult.raise_for_failures()``
"""

from __future__ import annotations

# Not typing's: every worker imports this.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from daisy._result import RunResult


class DaisyError(RuntimeError):
    """Base of what daisy raises, wrong arguments apart.

    Attributes:
        kind: A stable name in snake case, for example ``"store_locked"``.
        details: The values that belong to the message, by name.

    >>> import daisy
    >>> try:
    ...     daisy.launchers.load("grid")
    ... except daisy.DaisyError as error:
    ...     print(error.kind)
    launcher_unavailable
    """

    kind: str = "daisy"

    def __init__(self, message: str = "") -> None:
        """An error with this message."""
        super().__init__(message)
        self.details: dict[str, str] = {}


class AddressError(DaisyError):
    """An address that cannot be bound, resolved or reached."""

    kind = "address"


class ProtocolError(DaisyError):
    """The peer speaks another protocol, or another version of it."""

    kind = "protocol"


class AuthenticationError(DaisyError):
    """The peer does not know the run's token."""

    kind = "authentication"


class ConnectionLost(DaisyError):
    """The connection is gone."""

    kind = "connection_lost"


class RefusedError(DaisyError):
    """Something that the state does not allow, such as releasing a block twice."""

    kind = "refused"


class StoreError(DaisyError):
    """A tracking store that cannot be used.

    Attributes:
        result: What was done until then, if the store failed during a run; None if it was refused before.
    """

    kind = "store"

    def __init__(self, message: str = "") -> None:
        """An error with this message."""
        super().__init__(message)
        self.result: RunResult | None = None


class StoreMismatch(StoreError):
    """A tracking store that was written for another geometry."""

    kind = "store_mismatch"


class StoreLocked(StoreError):
    """A tracking store that another run is using."""

    kind = "store_locked"


class SerializationError(DaisyError):
    """A function that cannot be sent to a worker."""

    kind = "serialization"


class LauncherError(DaisyError):
    """Workers that could not be started; nothing was started.

    Attributes:
        retryable: Whether trying again later may help.
    """

    kind = "launcher"

    def __init__(self, message: str = "", *, retryable: bool = False) -> None:
        """An error with this message; ``retryable`` says whether later may be better."""
        super().__init__(message)
        self.retryable = retryable


class LauncherUnavailable(LauncherError):
    """A launcher that cannot work here at all."""

    kind = "launcher_unavailable"


class RunFailed(DaisyError):
    """Blocks of a run failed or could not run.

    Attributes:
        result: The result of the run.

    >>> import daisy
    >>> def function(block):
    ...     raise ValueError("a bad block")
    >>> cell = daisy.Roi((0,), (10,))
    >>> task = daisy.Task("copy", cell, cell, cell, function, max_retries=0, worker_processes=False)
    >>> try:
    ...     daisy.run_blockwise(task, progress=False, summary=False).raise_for_failures()
    ... except daisy.RunFailed as failed:
    ...     print(failed.result.states["copy"].failed_count)
    1
    """

    kind = "run_failed"

    def __init__(self, message: str = "", result: RunResult | None = None) -> None:
        """An error for this result."""
        super().__init__(message)
        self.result = result


for _error in (
    DaisyError,
    AddressError,
    ProtocolError,
    AuthenticationError,
    ConnectionLost,
    RefusedError,
    StoreError,
    StoreMismatch,
    StoreLocked,
    SerializationError,
    LauncherError,
    LauncherUnavailable,
    RunFailed,
):
    # Tracebacks and pickles name the public place.
    _error.__module__ = "daisy.errors"
del _error
