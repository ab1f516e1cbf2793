"""Ray."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from daisy._errors import LauncherError, LauncherUnavailable
from daisy.launchers import _hosted
from daisy.launchers._amounts import Memory, Time, megabytes
from daisy.launchers._hosted import Host, Order
from daisy.launchers._hosting import Hosted, HostingLauncher
from daisy.launchers._protocol import Handle, RunContext, State, Status, WorkerSpec
from daisy.logging import logger

_ANSWER_S = 10.0
_END_S = 5.0


@dataclass
class _Hosted(Hosted):
    """One worker of ours, and the actor that hosts it."""

    actor: Any = None
    started: Any = None


class Ray(HostingLauncher[_Hosted]):
    """Workers on Ray: each is a child of an actor that Ray does not restart.

    Args:
        cpus: Processors for each worker. ``requires={"cpu": …}`` of a task comes first.
        gpus: GPUs for each worker, which sees no others. ``requires={"gpu": …}`` of a task comes first.
        mem: Memory for each worker. ``requires={"mem_mb": …}`` of a task comes first.
        resources: Resources of your own for each worker, such as ``{"license": 1}``.
        options: Further options of the actors, such as ``{"scheduling_strategy": "SPREAD"}``.
        address: Where Ray runs, if this process has not called ``ray.init``. Then it is left again after the run.
        max_queue: Longest time that a worker may wait for its place.
        connect_timeout: Longest time from the start of a worker to its connection.
        python: Interpreter of the workers; that of the actor if it is not given.
        poll_every: Seconds between questions to Ray; it is not asked about workers that are connected.

    Call ``ray.init(...)`` before the run, or say where Ray is.

    >>> from daisy.launchers import Ray
    >>> Ray(gpus=1, mem="16G", address="auto")
    <daisy launcher 'ray'>
    """

    name = "ray"

    def __init__(
        self,
        *,
        cpus: float = 1,
        gpus: float = 0,
        mem: Memory = None,
        resources: Mapping[str, float] | None = None,
        options: Mapping[str, Any] | None = None,
        address: str | None = None,
        max_queue: Time = None,
        connect_timeout: Time = 120,
        python: str | None = None,
        poll_every: float = 0.2,
    ) -> None:
        super().__init__(
            max_queue=max_queue,
            connect_timeout=connect_timeout,
            python=python,
            poll_every=poll_every,
        )
        self._cpus = cpus
        self._gpus = gpus
        self._mem_mb = megabytes("mem", mem)
        self._resources = dict(resources or {})
        self._options = dict(options or {})
        self._address = address
        self._ray: Any = None
        self._is_ours = False

    def open(self, run: RunContext) -> None:
        """Find Ray.

        Raises:
            LauncherUnavailable: It is not installed, or cannot be reached.
        """
        try:
            import ray  # noqa: PLC0415 - an extra
        except ImportError as error:
            raise LauncherUnavailable(
                f"launcher 'ray': {error}; install it with: pip install 'daisy-py[ray]'"
            ) from error
        self._ray = ray
        self._run = uuid.uuid4().hex
        if not ray.is_initialized():
            try:
                ray.init(address=self._address, log_to_driver=False)
            except (ConnectionError, OSError, RuntimeError, ValueError) as error:
                raise LauncherUnavailable(
                    f"launcher 'ray': {error}; call ray.init() before the run, or pass address="
                ) from error
            self._is_ours = True

    def launch(self, n: int, spec: WorkerSpec) -> list[Handle]:
        """Ask for ``n`` actors; those that find no place wait."""
        if self._ray is None:
            raise LauncherError("launcher 'ray': launch() before open()")
        actor_class = self._ray.remote(_Actor).options(**self._options_for(spec))
        handles = []
        for order in _hosted.orders(spec, n, self._run, self._python):
            actor = actor_class.remote()
            worker = str(order.spec.workers[0])
            # The actor lives as long as it is held here.
            self._hosted[worker] = _Hosted(
                order.spec, actor=actor, started=actor.start.remote(order)
            )
            handles.append(Handle(self.name, worker, order.key))
        return handles

    def _options_for(self, spec: WorkerSpec) -> dict[str, Any]:
        mem_mb = spec.mem_mb or self._mem_mb
        return {
            "num_cpus": spec.cpus or self._cpus,
            "num_gpus": spec.gpus or self._gpus,
            "resources": self._resources,
            **({"memory": mem_mb * 1024**2} if mem_mb else {}),
            **self._options,
            # Only daisy replaces workers.
            "max_restarts": 0,
            "max_task_retries": 0,
        }

    def poll(self, handles: Sequence[Handle]) -> Mapping[Handle, Status]:
        """Ask the actors that have found a place, all at once."""
        asked = {handle: self._hosted.get(handle.launch_id) for handle in handles}
        open_ones = self._not_ended(handles)
        begun = self._ready([hosted.started for hosted in open_ones], 0.0)
        questions = {
            id(hosted): hosted.actor.poll.remote()
            for hosted in open_ones
            if hosted.started in begun
        }
        answered = self._ready(list(questions.values()), _ANSWER_S)
        statuses: dict[Handle, Status] = {}
        for handle, hosted in asked.items():
            if hosted is None:
                statuses[handle] = Status(State.LOST, "it is not known")
            elif hosted.final is not None:
                statuses[handle] = hosted.final
            elif hosted.started not in begun:
                statuses[handle] = Status(State.QUEUED, "ray has no place for it yet")
            elif questions[id(hosted)] not in answered:
                statuses[handle] = Status(State.UNKNOWN, "its actor does not answer")
            else:
                statuses[handle] = self._status(hosted, questions[id(hosted)])
        return statuses

    def _ready(self, references: list[Any], timeout: float) -> set[Any]:
        if not references:
            return set()
        ready, _ = self._ray.wait(references, num_returns=len(references), timeout=timeout)
        return set(ready)

    def _status(self, hosted: _Hosted, answer: Any) -> Status:
        exceptions = self._ray.exceptions
        try:
            self._ray.get(hosted.started)
            status: Status = self._ray.get(answer)
        except exceptions.RayActorError as error:
            reason = " ".join(str(error).split())[:300]
            status = Status(State.LOST, f"its actor is gone: {reason}", outside=True)
        except exceptions.RayTaskError as error:
            status = Status(State.FAILED, f"it cannot be started: {error.cause}")
        if not status.state.is_final:
            return status
        if hosted.cancelled:
            status = replace(status, state=State.CANCELLED)
        hosted.final = status
        self._ray.kill(hosted.actor)
        return status

    def cancel(self, handles: Sequence[Handle], grace_s: float) -> None:
        """End the workers; those that wait for a place never begin."""
        left = self._not_ended(handles)
        if not left:
            return
        begun = self._ready([hosted.started for hosted in left], 0.0)
        told = []
        for hosted in left:
            hosted.cancelled = True
            if hosted.started in begun:
                told.append(hosted.actor.end.remote(grace_s))
            else:
                # If it is about to start its worker, that ends with it.
                self._ray.kill(hosted.actor)
                hosted.final = Status(State.CANCELLED, "cancelled")
        if len(self._ready(told, _ANSWER_S)) < len(told):
            logger.warning("ray does not answer, workers may live on")

    def close(self, cancel: bool = True) -> None:
        """End what is left; leave Ray if it was entered for this run alone."""
        if cancel:
            self._end_all()
        for hosted in self._hosted.values():
            self._ray.kill(hosted.actor)
        self._hosted.clear()
        if self._is_ours:
            self._is_ours = False
            self._ray.shutdown()


class _Actor:
    """Hosts one worker; every method returns at once."""

    def __init__(self) -> None:
        self._host: Host | None = None

    def start(self, order: Order) -> None:
        """Start the worker, on the thread that all methods run on."""
        self._host = Host(order)

    def poll(self) -> Status:
        """Where the worker is."""
        return Status(State.UNKNOWN) if self._host is None else self._host.poll()

    def end(self, grace_s: float) -> None:
        """End the worker."""
        if self._host is not None:
            self._host.end(grace_s)
