"""Workers as children of the processes that another engine runs: what goes on inside those."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from daisy._context import Context
from daisy._settings import PARENT_VARIABLE
from daisy.launchers._elements import is_notice
from daisy.launchers._process import ProcessLauncher
from daisy.launchers._protocol import Handle, State, Status, WorkerSpec

LOOK_EVERY_S = 0.05
GRACE_S = 10.0
"""How long a worker may take to leave when the process that hosts it is about to end."""


@dataclass(frozen=True)
class Order:
    """What a process of an engine is to host.

    Attributes:
        key: Name of this one worker, of no other in the world.
        spec: One worker.
        python: Its interpreter; the host's own if it is not given.
    """

    key: str
    spec: WorkerSpec
    python: str | None = None


def orders(spec: WorkerSpec, count: int, run: str, python: str | None) -> list[Order]:
    """An order for each of the first ``count`` workers of a specification."""
    plain = replace(spec, function=None)
    made = []
    for worker, text in list(zip(spec.workers, spec.contexts, strict=True))[:count]:
        context = Context.from_env_string(text)
        context["grace"] = str(GRACE_S)  # so that it takes a signal for notice
        one = replace(plain, workers=[worker], contexts=[context.to_env()])
        made.append(Order(f"{run}-{worker}", one, python))
    return made


class Host:
    """Starts one worker as a child of this process and sees to its end.

    Args:
        order: Which.
    """

    def __init__(self, order: Order) -> None:
        spec = order.spec
        argv = [order.python or sys.executable, *spec.argv[1:]]
        # Should this process be killed, the system ends the worker, too.
        env = {**spec.env, PARENT_VARIABLE: "1"}
        self._launcher = ProcessLauncher(may_fork=False)
        self._handle: Handle
        (self._handle,) = self._launcher.launch(1, replace(spec, argv=argv, env=env))

    def poll(self) -> Status:
        """Where the worker is."""
        status = self._launcher.poll([self._handle])[self._handle]
        node = os.uname().nodename if hasattr(os, "uname") else ""
        return replace(status, node=node, outside=is_notice(status.exit_code))

    def end(self, grace_s: float) -> None:
        """End the worker, politely at first if there is time for that."""
        self._launcher.cancel([self._handle], grace_s)


_lock = threading.Lock()
_hosts: dict[str, Host] = {}
_refused: set[str] = set()


def host(order: Order, is_leaving: Callable[[], bool]) -> Status:
    """Start a worker and stay until it has ended, on a thread that lives as long.

    Args:
        order: Which worker. It is started once: an engine that does something again is told no.
        is_leaving: Whether this process is about to end, so that the worker must leave.
    """
    with _lock:
        if order.key in _refused:
            return Status(State.CANCELLED, "cancelled before it began")
        _refused.add(order.key)
        mine = _hosts[order.key] = Host(order)
    pause = threading.Event()
    told = False
    try:
        while not (status := mine.poll()).state.is_final:
            if not told and is_leaving():
                told = True
                mine.end(GRACE_S)
            pause.wait(LOOK_EVERY_S)
    finally:
        with _lock:
            del _hosts[order.key]
    if told:
        return replace(status, state=State.EXITED if status.exit_code == 0 else State.FAILED)
    return status


def end(keys: Iterable[str], grace_s: float) -> list[str]:
    """End those of these workers that run in this process, and let the others never begin here."""
    with _lock:
        known = set(keys)
        _refused.update(known)
        running = known & _hosts.keys()
        for key in running:
            _hosts[key].end(grace_s)
    return sorted(running)


def running(keys: Iterable[str]) -> list[str]:
    """Those of these workers that run in this process."""
    with _lock:
        return sorted(set(keys) & _hosts.keys())
