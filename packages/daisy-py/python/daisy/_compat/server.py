"""Servers and their observers of daisy 1.x."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from daisy._compat.warn import warn_of_former

if TYPE_CHECKING:
    from daisy import _core
    from daisy._pipeline import PipelineLike


class SerialServer:
    """Runs pipelines in this process, as in daisy 1.x: ``run_blockwise(multiprocessing=False)``.

    >>> import warnings, daisy
    >>> roi = daisy.Roi((0,), (10,))
    >>> with warnings.catch_warnings(action="ignore"):
    ...     server = daisy.SerialServer()
    >>> task = daisy.Task("copy", roi, roi, roi, lambda block: None)
    >>> server.run_blockwise([task])["copy"].completed_count
    1
    >>> observer = object()  # methods that it does not have are not called
    >>> server.register_observer(observer)
    >>> server.unregister_observer(observer)
    """

    def __init__(self) -> None:
        warn_of_former("SerialServer()", "run_blockwise(..., multiprocessing=False)")
        self._observers: list[Any] = []

    def run_blockwise(
        self,
        tasks: PipelineLike,
        block_tracking: bool = True,
        scheduler: object = None,
    ) -> dict[str, _core.TaskState]:
        """Run here.

        Args:
            tasks: A pipeline, a task, or a list of tasks.
            block_tracking: False to ignore tracking stores.
            scheduler: Not used.

        Returns:
            The states of the tasks by name.

        Raises:
            Exception: What a block raised, as it is.
        """
        from daisy._observe import FormerObservers  # noqa: PLC0415 - a floor below
        from daisy._run import run_blockwise  # noqa: PLC0415 - a floor below

        return run_blockwise(
            tasks,
            multiprocessing=False,
            progress=FormerObservers(self._observers, None) if self._observers else False,
            summary=False,
            block_tracking=block_tracking,
            return_states=True,
        )

    def register_observer(self, observer: object) -> None:
        """Tell ``observer`` of the runs of this server.

        Args:
            observer: A :class:`daisy.server_observer.ServerObserver`.
        """
        self._observers.append(observer)

    def unregister_observer(self, observer: object) -> None:
        """Tell it no more.

        Args:
            observer: One that was registered.
        """
        self._observers.remove(observer)


class ServerObserver:
    """Hears what happens in the runs of a server, as in daisy 1.x; override what you want to hear.

    Args:
        server: The server to listen to.
    """

    def __init__(self, server: Any) -> None:
        server.register_observer(self)

    def on_task_start(self, task_id: str, task_state: _core.TaskState) -> None:
        """The first block of a task was given out."""

    def on_acquire_block(self, task_id: str, task_state: _core.TaskState) -> None:
        """A block was given out."""

    def on_release_block(self, task_id: str, task_state: _core.TaskState) -> None:
        """A block came back."""

    def on_block_failure(self, block: _core.Block, exception: Exception, context: Any) -> None:
        """An attempt of a block failed; ``exception`` has the worker's traceback as its text."""

    def on_task_done(self, task_id: str, task_state: _core.TaskState) -> None:
        """Every block of a task has ended."""

    def on_server_exit(self) -> None:
        """The run has ended."""


class ServerObservee:
    """Keeps observers and calls them, as in daisy 1.x."""

    def __init__(self) -> None:
        self.observers: list[Any] = []

    def register_observer(self, observer: object) -> None:
        """Tell ``observer`` from now on."""
        self.observers.append(observer)

    def unregister_observer(self, observer: object) -> None:
        """Tell it no more."""
        self.observers.remove(observer)
