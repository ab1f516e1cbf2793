"""The exceptions of daisy; see the tree in ``help(daisy._errors)``."""

from daisy._errors import (
    AddressError,
    AuthenticationError,
    ConnectionLost,
    DaisyError,
    LauncherError,
    LauncherUnavailable,
    ProtocolError,
    RefusedError,
    RunFailed,
    SerializationError,
    StoreError,
    StoreLocked,
    StoreMismatch,
)

__all__ = [
    "AddressError",
    "AuthenticationError",
    "ConnectionLost",
    "DaisyError",
    "LauncherError",
    "LauncherUnavailable",
    "ProtocolError",
    "RefusedError",
    "RunFailed",
    "SerializationError",
    "StoreError",
    "StoreLocked",
    "StoreMismatch",
]
