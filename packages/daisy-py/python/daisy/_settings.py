"""Names and numbers that more than one module uses."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

CONTEXT_VARIABLE: Final = "DAISY_CONTEXT"
"""Environment variable that carries the context of a worker."""

PARENT_VARIABLE: Final = "DAISY_END_WITH_PARENT"
"""Environment variable that tells a worker to end with the process that started it."""

STARTED_VARIABLE: Final = "DAISY_JOB_STARTED"
"""Environment variable with the time at which the job of a worker began, as the job's script saw it."""

HOST_VARIABLE: Final = "DAISY_HOST"
"""Environment variable with the address to listen on, where ``host=`` is not given."""

TLS_VARIABLE: Final = "DAISY_TLS"
"""Environment variable that turns TLS ``on`` or ``off``; ``auto``: on if the driver listens beyond this machine."""

CONNECT_TIMEOUT_VARIABLE: Final = "DAISY_CONNECT_TIMEOUT"
"""Environment variable with the seconds that a worker may take from its start to its connection (120)."""

RECONNECT_GRACE_VARIABLE: Final = "DAISY_RECONNECT_GRACE"
"""Environment variable with the seconds that a worker whose connection is lost may take to come back (30)."""

HEARTBEAT_VARIABLE: Final = "DAISY_HEARTBEAT"
"""Environment variable with the seconds between signs of life of a connection (5); after six without one it is lost."""

START_VARIABLE: Final = "DAISY_WORKER_START"
"""Environment variable that says how local workers start: ``fork`` (the default on Linux) copies one clean process that
has imported what the tasks need, wherever that is safe; ``spawn`` starts an interpreter for each."""

ERROR_LINES: Final = 50
"""Most lines of an error text that travel; the whole of it is in the worker's log."""

ERROR_BYTES: Final = 8192
"""Most bytes of an error text that travel."""

THREAD_VARIABLES: Final = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)
"""Variables that limit the threads of numerical libraries; set for local workers unless the user did."""

CAPACITY: Final = 64
"""Most blocks that one worker holds at once, when they are short."""


def tls_from_environment() -> bool | None:
    """Whether to speak TLS; None if that follows from where the driver listens.

    Raises:
        ValueError: If it is set to anything but ``auto``, ``on`` or ``off``.
    """
    text = os.environ.get(TLS_VARIABLE, "auto")
    choices = {"auto": None, "on": True, "off": False}
    if text not in choices:
        raise ValueError(f"{TLS_VARIABLE} is one of 'auto', 'on' and 'off'; got {text!r}")
    return choices[text]


def seconds_from_environment(variable: str, default: float) -> float:
    """A number of seconds that the user may set.

    Raises:
        ValueError: If it is set to anything but a number above zero.
    """
    text = os.environ.get(variable)
    if text is None:
        return default
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    # A comparison with NaN is false.
    if not 0 < seconds < 1e9:
        raise ValueError(f"{variable} is a number of seconds above 0; got {text!r}")
    return seconds


def may_fork_workers() -> bool:
    """Whether the user lets workers be forked from a process that is made for it.

    Raises:
        ValueError: If the setting is not one of those there are.
    """
    text = os.environ.get(START_VARIABLE, "fork")
    if text not in ("fork", "spawn"):
        raise ValueError(f"{START_VARIABLE} is 'fork' or 'spawn'; got {text!r}")
    return text == "fork"
