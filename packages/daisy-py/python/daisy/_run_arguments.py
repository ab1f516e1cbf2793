"""What a run was asked to be."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from daisy import _core
from daisy._errors import StoreError
from daisy._mask import mask_bytes
from daisy._observers import observer_of
from daisy._pipeline import Pipeline
from daisy._report.facts import settings_of
from daisy._report.left import leave_report
from daisy._result import RunResult
from daisy._settings import (
    CONNECT_TIMEOUT_VARIABLE,
    HEARTBEAT_VARIABLE,
    RECONNECT_GRACE_VARIABLE,
    seconds_from_environment,
    tls_from_environment,
)

if TYPE_CHECKING:
    from daisy.launchers import Handle


class RunArguments:
    """What a run was asked to be, checked, and as the core takes it."""

    def __init__(
        self,
        pipeline: Pipeline,
        resources: dict[str, int],
        host: str | None,
        ports: tuple[int, int],
        progress: object,
        summary: bool,
        block_tracking: bool,
        worker_processes: bool,
    ) -> None:
        self.pipeline = pipeline
        self.tasks = pipeline.tasks
        self.plan = pipeline.plan()
        self.resources = resources
        self.host = host
        self.ports = ports
        self.observer = observer_of(progress)
        self.summary = summary
        self.block_tracking = block_tracking
        self.worker_processes = worker_processes
        self.masks = [mask_bytes(task) for task in self.tasks]
        self.stores: list[_core.TrackingStore | None] = []
        self.settings = {
            "resources": resources,
            "host": host,
            "worker_processes": worker_processes,
            "block_tracking": block_tracking,
        }

    def result(
        self,
        outcome: _core.RunOutcome,
        wall_seconds: float,
        jobs: Sequence[Handle] = (),
        jobs_left: Sequence[Handle] = (),
    ) -> RunResult:
        """What the run came to, with what it was asked to be; its report is left beside the logs."""
        result = RunResult(
            outcome,
            wall_seconds=wall_seconds,
            tasks=settings_of(self.tasks),
            settings=self.settings,
            jobs=jobs,
            jobs_left=jobs_left,
        )
        leave_report(result)
        return result

    def options(
        self, *, resources: dict[str, int], all_local: bool, may_queue: bool = False
    ) -> _core.RunOptions:
        """The same for the core."""
        return _core.RunOptions(
            resources={**resources},
            host=self.host,
            ports=self.ports,
            all_local=all_local,
            tls=tls_from_environment(),
            masks=self.masks,
            stores=self.stores,
            measures=[task.resource_tracking for task in self.tasks],
            # Whoever waits in a queue has not failed to connect: the fleet keeps both clocks then.
            connect_timeout=timedelta(days=3650)
            if may_queue
            else timedelta(seconds=seconds_from_environment(CONNECT_TIMEOUT_VARIABLE, 120)),
            reconnect_grace=timedelta(
                seconds=seconds_from_environment(RECONNECT_GRACE_VARIABLE, 30)
            ),
            heartbeat=timedelta(seconds=seconds_from_environment(HEARTBEAT_VARIABLE, 5)),
            stall_after=timedelta(minutes=10),
        )


def attach(error: BaseException, result: RunResult) -> None:
    """Let whoever catches an interrupt, or the failure of a store, see what was done."""
    error.daisy_result = result  # type: ignore[attr-defined]
    error.daisy_states = result.states  # type: ignore[attr-defined]
    error.daisy_task_order = list(result.states)  # type: ignore[attr-defined]
    if isinstance(error, StoreError):
        error.result = result
