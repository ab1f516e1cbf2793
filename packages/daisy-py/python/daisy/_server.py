"""The class that runs were started with in daisy 1.x."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from daisy._observe import FormerObservers
from daisy._observers import observer_of
from daisy._run import run_blockwise

if TYPE_CHECKING:
    from collections.abc import Mapping

    from daisy import _core
    from daisy._pipeline import PipelineLike
    from daisy._result import RunResult


class Server:
    """Runs pipelines; what :func:`run_blockwise` is made of in daisy 1.x and 2.0.0.

    Args:
        stop_event: Not used; Ctrl-C stops a run.
        host: Where the runs of this server listen, if they do not say so themselves.

    Attributes:
        last_result: The result of the last run.
        last_tracking_summary: What the last run measured.
        last_task_order: Names of its tasks in the order in which data flows.

    >>> import daisy
    >>> total, cell = daisy.Roi((0,), (40,)), daisy.Roi((0,), (10,))
    >>> task = daisy.Task("copy", total, cell, cell, lambda block: None, worker_processes=False)
    >>> server = daisy.Server()
    >>> server.run_blockwise(task, progress=False, summary=False)["copy"].completed_count
    4
    >>> bool(server.last_result), server.last_task_order
    (True, ['copy'])
    >>> observer = object()  # methods that it does not have are not called
    >>> server.register_observer(observer)
    >>> server.unregister_observer(observer)
    """

    def __init__(self, stop_event: object = None, host: str | None = None) -> None:
        self.stop_event = stop_event
        self._host = host
        self._observers: list[object] = []
        self.hostname: str | None = None
        self.port: int | None = None
        self.last_result: RunResult | None = None
        self.last_tracking_summary: dict[str, Any] = {}
        self.last_task_order: list[str] = []

    def run_blockwise(
        self,
        pipeline: PipelineLike,
        resources: Mapping[str, int] | None = None,
        progress: object = True,
        block_tracking: bool = True,
        host: str | None = None,
        summary: bool = True,
        **options: Any,
    ) -> dict[str, _core.TaskState]:
        """Run with workers.

        Args:
            pipeline: A pipeline, a task, or a list of tasks.
            resources: As for :func:`run_blockwise`, like the others.
            progress: True for bars, False for none, or an observer.
            block_tracking: False to ignore tracking stores.
            host: Where to listen; that of the server if it is not given.
            summary: Whether the execution summary is printed.
            **options: What else :func:`run_blockwise` takes.

        Returns:
            The states of the tasks by name.
        """
        options.pop("scheduler", None)  # daisy 1.x took one; a run makes its own
        result: RunResult = run_blockwise(
            pipeline,
            resources=resources,
            progress=self._observer_of(progress),
            block_tracking=block_tracking,
            host=host or self._host,
            summary=summary,
            **options,
        )
        self.last_result = result
        self.last_tracking_summary = result.tracking_summary
        self.last_task_order = list(result.states)
        return result.states

    def register_observer(self, observer: object) -> None:
        """Tell an observer of daisy 1.x (``daisy.server_observer.ServerObserver``) of the runs of this server.

        Those of today are passed as ``progress=``.

        Args:
            observer: The observer.
        """
        self._observers.append(observer)

    def unregister_observer(self, observer: object) -> None:
        """Tell it no more.

        Args:
            observer: One that was registered.
        """
        self._observers.remove(observer)

    def _observer_of(self, progress: object) -> object:
        if not self._observers:
            return progress
        return FormerObservers(self._observers, observer_of(progress))


Server.__module__ = "daisy"
