"""What a launcher must be, and what it is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, Protocol, runtime_checkable


class State(Enum):
    """Where a worker is, as the launcher's engine sees it.

    >>> from daisy.launchers import State
    >>> State.FAILED.is_final, State.UNKNOWN.is_final
    (True, False)
    """

    QUEUED = "queued"
    RUNNING = "running"
    EXITED = "exited"
    FAILED = "failed"
    CANCELLED = "cancelled"
    LOST = "lost"
    UNKNOWN = "unknown"
    """The engine did not answer; never taken for death."""

    @property
    def is_final(self) -> bool:
        """Whether nothing more will happen to the worker."""
        return self in (State.EXITED, State.FAILED, State.CANCELLED, State.LOST)


@dataclass(frozen=True)
class Status:
    """What is known of a worker.

    Attributes:
        state: Where it is.
        reason: Why, one line: an exit code, the name of a signal, what the engine says.
        exit_code: As ``subprocess`` has it: negative for a signal.
        node: Where it runs.
        hopeless: Whether it can never start as asked for.
        outside: Whether the engine or someone ended it, by no fault of its own. If it had not connected yet, it is
            replaced, and nothing is counted against its task.
        gone: Whether the engine does not know it any more, and may yet tell how it ended.

    >>> from daisy.launchers import State, Status
    >>> Status(State.FAILED, "out of memory", exit_code=-9).state.is_final
    True
    """

    state: State
    reason: str = ""
    exit_code: int | None = None
    node: str = ""
    hopeless: bool = False
    outside: bool = False
    gone: bool = False


@dataclass(frozen=True)
class Handle:
    """One worker that was asked for; plain text, fit for JSON.

    Attributes:
        launcher: Name of the launcher.
        launch_id: The id that the worker registers with.
        native_id: What the engine calls it.

    >>> from daisy.launchers import Handle
    >>> Handle("slurm", "3", "1234_0").native_id
    '1234_0'
    """

    launcher: str
    launch_id: str
    native_id: str


@dataclass(frozen=True)
class Caps:
    """What a launcher can do.

    Attributes:
        remote: Whether workers may run on other machines.
        can_queue: Whether a worker may wait before it runs.
        can_kill: Whether a worker that does not listen can be ended; a thread cannot.
        grace: How a worker is ended: ``"term"`` (asked first), ``"none"`` (killed), or seconds of notice.
        poll_every: Seconds between questions to the engine.
        max_batch: Most workers of one call of ``launch``.
        max_queue_s: Longest time that a worker may wait before it runs, None for any.
        connect_timeout_s: Longest time from the start of a worker to its connection.

    >>> from daisy.launchers import Caps
    >>> Caps(remote=True, can_queue=True, poll_every=5.0).can_kill
    True
    """

    remote: bool = False
    can_queue: bool = False
    can_kill: bool = True
    grace: str | float = "term"
    poll_every: float = 0.02
    max_batch: int = 1000
    max_queue_s: float | None = None
    connect_timeout_s: float = 120.0


@dataclass(frozen=True)
class RunContext:
    """The run that workers are started for.

    Attributes:
        addresses: Where its server may be reached.
        run_dir: Folder of this run; only this user can read it.
        log_dir: Folder of logs, or None.

    >>> from pathlib import Path
    >>> from daisy.launchers import RunContext
    >>> RunContext(["127.0.0.1:4000"], Path("run"), None).addresses
    ['127.0.0.1:4000']
    """

    addresses: Sequence[str]
    run_dir: Path
    log_dir: Path | None


@dataclass(frozen=True)
class WorkerSpec:
    """What to start.

    Attributes:
        task_id: Name of the task.
        workers: The ids of the workers to start, one handle each, in this order.
        contexts: ``DAISY_CONTEXT`` of each.
        argv: Command that runs a worker whose environment has ``DAISY_CONTEXT`` and whose input has ``payload``.
        payload: What the command reads from its input.
        function: The function itself, for launchers inside this process.
        env: Variables to set besides ``DAISY_CONTEXT``.
        secret_env: Variables that may not be in arguments, scripts or logs.
        cpus: Processors per worker, 0 for any.
        gpus: GPUs per worker.
        mem_mb: Memory per worker, 0 for any.
        resources: What a worker takes of the run's budget.
        cwd: Folder to start in.
        log_dir: Folder for ``worker_<id>.out`` and ``.err``, or None for none.
        log_mode: ``"file"``, ``"console"`` or ``"both"``.

    >>> from daisy.launchers import WorkerSpec
    >>> WorkerSpec("copy", [1], ["daisy1.…"], ["python", "worker.py"], b"").cpus
    0
    """

    task_id: str
    workers: Sequence[int]
    contexts: Sequence[str]
    argv: Sequence[str]
    payload: bytes
    function: Any = None
    env: Mapping[str, str] = field(default_factory=dict)
    secret_env: Mapping[str, str] = field(default_factory=dict)
    cpus: int = 0
    gpus: int = 0
    mem_mb: int = 0
    resources: Mapping[str, int] = field(default_factory=dict)
    cwd: str = ""
    log_dir: Path | None = None
    log_mode: str = "file"


@runtime_checkable
class Launcher(Protocol):
    """Starts and ends workers. Every method is called from one thread, which is no other's.

    ``log_tail(handle, n=50)`` (the last that a worker said), ``forget(handle)`` (nobody will ask for it any more),
    ``left()`` (handles of workers that may live on after ``close``), ``prepare(spec)`` (before ``open``, while the
    run is made: a specification as that of its first workers, without payload) and ``end_left(handles, run_dir)`` are
    optional. The last ends what a driver that was killed left, unless the engine has given its id to something else
    since; ``run_dir`` is the folder of that driver's run. ``cancel`` is called if it is missing.
    """

    name: str
    caps: Caps

    def open(self, run: RunContext) -> None:
        """Get ready for a run.

        Args:
            run: Where its server and its folder are.

        Raises:
            LauncherUnavailable: If it cannot work here.
        """

    def launch(self, n: int, spec: WorkerSpec) -> list[Handle]:
        """Start ``n`` workers without waiting for them.

        Args:
            n: How many.
            spec: What to start.

        Returns:
            Those that were started. Fewer than ``n`` means that there is no room for more now: the others are
            asked for again later.

        Raises:
            LauncherError: If none was started. One that is ``retryable`` is tried again later by launchers
                whose workers may queue; any other counts as workers that never connected.
        """

    def poll(self, handles: Sequence[Handle]) -> Mapping[Handle, Status]:
        """Where these workers are; one question to the engine for all.

        Args:
            handles: The workers.

        Returns:
            What is known of each; one that is missing is not known.
        """

    def cancel(self, handles: Sequence[Handle], grace_s: float) -> None:
        """End these workers; those that ended are no error.

        Args:
            handles: The workers.
            grace_s: Seconds that they may take to end by themselves.
        """

    def close(self, cancel: bool = True) -> None:
        """The run is over.

        Args:
            cancel: Whether what is left is ended.
        """
