"""Dask."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from daisy._errors import LauncherError, LauncherUnavailable
from daisy.launchers import _hosted
from daisy.launchers._amounts import Time
from daisy.launchers._hosted import Order
from daisy.launchers._hosting import Hosted, HostingLauncher
from daisy.launchers._protocol import Handle, RunContext, State, Status, WorkerSpec
from daisy.logging import logger

_WORD_S = 60.0
_END_S = 5.0


@dataclass
class _Hosted(Hosted):
    """One worker of ours, and the dask worker that hosts it."""

    key: str = ""
    address: str = ""
    future: Any = None


class Dask(HostingLauncher[_Hosted]):
    """Workers on the workers of Dask: each is a child of one, ended with it, and restarted by nobody but daisy.

    A host task is pinned to a dask worker that is free; where none is, fewer workers are started than asked for.

    Args:
        client: A ``distributed.Client``, which is not closed. If it is not given: the one of this process, or, for the
            time of the run, one to the scheduler that Dask is configured for (``DASK_SCHEDULER_ADDRESS``).
        resources: What a dask worker must have for each of ours, such as ``{"GPU": 1}``.
        per_worker: Most of ours on one dask worker.
        cluster: Asked to ``scale`` when there is no room, and scaled back at the end; it is not closed.
        max_queue: Longest time without any room for a worker of a task, after which that task fails.
        connect_timeout: Longest time from the start of a worker to its connection.
        python: Interpreter of the workers; that of the dask worker if it is not given.
        poll_every: Seconds between questions to Dask; it is not asked about workers that are connected.

    Raises:
        ValueError: ``per_worker`` is less than 1.

    With ``client = distributed.Client("tcp://scheduler:8786")``, say ``Dask(client)``.

    >>> from daisy.launchers import Dask
    >>> Dask(resources={"GPU": 1}, per_worker=2)
    <daisy launcher 'dask'>
    """

    name = "dask"

    def __init__(
        self,
        client: Any = None,
        *,
        resources: Mapping[str, float] | None = None,
        per_worker: int = 1,
        cluster: Any = None,
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
        if per_worker < 1:
            raise ValueError(f"argument 'per_worker': expected 1 or more, got {per_worker!r}")
        self._given = client
        self._resources = dict(resources or {})
        self._per_worker = per_worker
        self._cluster = cluster
        self._size_before: int | None = None
        self._client: Any = None
        self._own: Any = None
        self._full_since: dict[str, float] = {}
        self._said_at = 0.0

    def open(self, run: RunContext) -> None:
        """Find the client.

        Raises:
            LauncherUnavailable: Dask is not installed, or there is no client, or one for ``async`` programs.
        """
        try:
            self._client = self._given or self._found()
        except ImportError as error:
            raise LauncherUnavailable(
                f"launcher 'dask': {error}; install it with: pip install 'daisy-py[dask]'"
            ) from error
        if self._client.asynchronous:
            raise LauncherUnavailable(
                "launcher 'dask': expected a client of an ordinary program, got one with asynchronous=True"
            )
        self._run = uuid.uuid4().hex

    def _found(self) -> Any:
        """The client of this process, or one of our own to the scheduler that Dask is configured for."""
        import dask  # noqa: PLC0415 - an extra
        from distributed import Client, get_client  # noqa: PLC0415

        try:
            return get_client()
        except ValueError:
            address = dask.config.get("scheduler-address", None)
        if not address:
            raise LauncherUnavailable(
                "launcher 'dask': expected a distributed.Client, got none and found none in this process; make one "
                "before the run, pass it as daisy.launchers.Dask(client), or set DASK_SCHEDULER_ADDRESS"
            )
        try:
            make: Any = Client  # it has no annotations
            client = make(address, set_as_default=False)
        except OSError as error:
            raise LauncherUnavailable(
                f"launcher 'dask': {address} does not answer: {error}"
            ) from error
        self._own = client
        return client

    def launch(self, n: int, spec: WorkerSpec) -> list[Handle]:
        """Start as many of ``n`` workers as dask workers have room for."""
        client = self._opened()
        room = self._room(client)
        if not room:
            self._note_full(spec.task_id)
            self._scale(n)
            return []
        self._full_since.pop(spec.task_id, None)
        if len(room) < n:
            self._scale(n - len(room))
        handles = []
        ordered = _hosted.orders(spec, min(n, len(room)), self._run, self._python)
        for order, address in zip(ordered, room, strict=False):
            future = client.submit(
                _host,
                order,
                key=f"daisy-{order.key}",
                workers=[address],
                allow_other_workers=False,
                resources=self._resources or None,
                retries=0,
                pure=False,
            )
            worker = str(order.spec.workers[0])
            self._hosted[worker] = _Hosted(
                order.spec, key=order.key, address=address, future=future
            )
            handles.append(Handle(self.name, worker, f"{address} {order.key}"))
        return handles

    def _opened(self) -> Any:
        if self._client is None:
            raise LauncherError("launcher 'dask': launch() before open()")
        return self._client

    def _room(self, client: Any) -> list[str]:
        """An address for each worker of ours that there is room for, the emptiest first."""
        places: list[tuple[int, str]] = []
        try:
            workers = client.scheduler_info(n_workers=-1)["workers"]
            processing = client.processing()
        except (OSError, TimeoutError) as error:
            raise LauncherError(f"dask does not answer: {error}", retryable=True) from error
        for address, worker in workers.items():
            ours = sum(
                hosted.address == address and hosted.final is None
                for hosted in self._hosted.values()
            )
            # What Dask calls processing may be waiting for a thread behind something else.
            threads = worker["nthreads"] - len(processing.get(address, ()))
            room = min(self._per_worker - ours, threads)
            for name, amount in self._resources.items():
                has = worker.get("resources", {}).get(name, 0) - ours * amount
                room = min(room, int(has // amount) if amount else room)
            if worker.get("status", "running") == "running":
                places.extend((ours + number, address) for number in range(room))
        return [address for _, address in sorted(places)]

    def _note_full(self, task_id: str) -> None:
        now = time.monotonic()
        waited = now - self._full_since.setdefault(task_id, now)
        wanted = f" with {self._resources}" if self._resources else ""
        what = f"no dask worker{wanted} has room for a worker of task {task_id!r}"
        if self.caps.max_queue_s is not None and waited > self.caps.max_queue_s:
            raise LauncherError(f"{what} since {waited:.0f} s")
        if waited > 1 and now - self._said_at > _WORD_S:
            self._said_at = now
            logger.warning("%s", what)

    def _scale(self, more: int) -> None:
        if self._cluster is None:
            return
        now = len(self._cluster.workers)
        if self._size_before is None:
            self._size_before = now
        ours = sum(hosted.final is None for hosted in self._hosted.values())
        wanted = -(-(ours + more) // self._per_worker)
        if wanted > now:
            self._cluster.scale(wanted)

    def poll(self, handles: Sequence[Handle]) -> Mapping[Handle, Status]:
        """Look at the futures; ask Dask which host tasks have begun, with one question."""
        asked = {handle: self._hosted.get(handle.launch_id) for handle in handles}
        open_ones = self._not_ended(handles)
        alive, begun = self._begun([hosted for hosted in open_ones if not hosted.future.done()])
        return {
            handle: Status(State.LOST, "it is not known")
            if hosted is None
            else self._status(hosted, alive, begun)
            for handle, hosted in asked.items()
        }

    def _begun(self, waiting: Sequence[_Hosted]) -> tuple[set[str] | None, set[str]]:
        """Addresses of the dask workers there are, and keys of workers that run; None if Dask is silent."""
        client = self._client
        if not waiting or client is None:
            return set(), set()
        try:
            alive = set(client.nthreads())
            where = sorted({hosted.address for hosted in waiting} & alive)
            keys = [hosted.key for hosted in waiting]
            answers = (
                client.run(_hosted.running, keys, workers=where, on_error="ignore") if where else {}
            )
        except (OSError, TimeoutError):
            return None, set()
        return alive, {key for answer in answers.values() for key in answer or ()}

    def _status(self, hosted: _Hosted, alive: set[str] | None, begun: set[str]) -> Status:
        if hosted.final is not None:
            return hosted.final
        future = hosted.future
        if not future.done():
            if alive is None:
                return Status(State.UNKNOWN, "dask does not answer")
            if hosted.address in alive:
                state = State.RUNNING if hosted.key in begun else State.QUEUED
                return Status(state, hosted.address, node=hosted.address)
            status = Status(State.LOST, f"dask worker {hosted.address} is gone", outside=True)
        elif future.status == "finished":
            status = future.result(timeout=_END_S)
        elif future.status == "cancelled":
            status = Status(State.CANCELLED, "cancelled")
        else:
            error = future.exception() if future.status == "error" else None
            status = Status(State.FAILED, f"dask: {error or future.status}")
        if hosted.cancelled:
            status = Status(State.CANCELLED, status.reason, status.exit_code, status.node)
        hosted.final = status
        # Dask would do it again if a worker with the result died, or if someone held the future.
        future.cancel()
        return status

    def cancel(self, handles: Sequence[Handle], grace_s: float) -> None:
        """End the workers; host tasks that have not begun never will."""
        client = self._client
        left = self._not_ended(handles)
        for hosted in left:
            hosted.cancelled = True
        if not left or client is None:
            return
        try:
            alive = set(client.nthreads())
            where = sorted({hosted.address for hosted in left} & alive)
            keys = [hosted.key for hosted in left]
            answers = (
                client.run(_hosted.end, keys, grace_s, workers=where, on_error="ignore")
                if where
                else {}
            )
        except (OSError, TimeoutError) as error:
            logger.warning("dask does not answer, workers may live on: %s", error)
            return
        running = {key for answer in answers.values() for key in answer or ()}
        for hosted in left:
            if hosted.key not in running and not hosted.future.done():
                hosted.future.cancel()

    def close(self, cancel: bool = True) -> None:
        """End what is left and give up what the cluster was scaled up by; a client that was given stays open."""
        if cancel:
            self._end_all()
        self._hosted.clear()
        if self._cluster is not None and self._size_before is not None:
            self._cluster.scale(self._size_before)
            self._size_before = None
        if self._own is not None:
            self._own.close()
            self._own = None


def _host(order: Order) -> Status:
    """What a dask worker does for one of ours."""
    from distributed import get_worker  # noqa: PLC0415 - an extra

    dask_worker = get_worker()
    return _hosted.host(order, lambda: dask_worker.status.name != "running")
