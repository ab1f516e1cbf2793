"""One operation over one volume."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from daisy import _core, _task_arguments, _tracking
from daisy._mask import mask_argument
from daisy._task_function import FunctionKind, kind_of, refuse_asynchronous

if TYPE_CHECKING:
    from daisy._pipeline import Pipeline
    from daisy._protocols import RoiLike
    from daisy.launchers import Launcher

Fit: TypeAlias = Literal["valid", "overhang", "shrink"]
BlockFunction: TypeAlias = Callable[[_core.Block], Any]
WorkerFunction: TypeAlias = Callable[..., Any]
CheckFunction: TypeAlias = Callable[[_core.Block], Any]


class Task:
    """One operation over one volume: a function, and the blocks that it is called with.

    Everything is checked here, so that nothing is found out by running workers. ROIs are in world units.

    Args:
        task_id: Name of the task; also the name of its folders.
        total_roi: The volume, context included.
        read_roi: What one block reads; only its shape and place relative to ``write_roi`` matter.
        write_roi: What one block writes.
        process_function: ``f(block)``, called for each block, or ``f()``, which drives a ``daisy.Client``.
        check_function: ``f(block)`` that says whether a block is done already; called in the driver, in several
            threads at once unless the run is serial. Prefer ``tracking_path``.
        read_write_conflict: Whether a block may not run while another writes what it reads.
        fit: What happens at the upper edge of the volume: ``"valid"`` leaves a remainder out,
            ``"overhang"`` lets the last block stick out, ``"shrink"`` cuts it.
        max_workers: Most workers of the task at a time.
        max_retries: Attempts of a block after its first.
        timeout: Seconds (or a ``timedelta``) that one attempt may take; None for no limit.
        done_marker_path: Former name of ``tracking_path``.
        resource_tracking: Whether time, memory and I/O of each block are measured.
        requires: What each worker needs of the run's ``resources``, such as ``{"gpu": 1}``.
        max_worker_restarts: Deaths of workers in a row, with no block completed between, that are replaced.
        skip_mask: Blocks that are skipped: an array with one cell per block, not zero where it is skipped; the path of
            a zarr array of that kind; or a function that says of a ROI whether all blocks that write in it are skipped
            (True), none is (False), or some are (None: it is asked again of halves).
        tracking_path: Folder that remembers which blocks are done; None for one in
            ``daisy.set_tracking_basedir(...)`` if that is set, False for none.
        launcher: How workers start: a name (``"process"``, ``"thread"``, a plugin's) or an object.
        give_up_after: Blocks that fail for good before any succeeded, after which the task is abandoned;
            None for never.
        worker_processes: False to run the workers of this task as threads.

    Raises:
        TypeError: An argument of the wrong type.
        ValueError: An argument with an impossible value.

    >>> import daisy
    >>> roi = daisy.Roi((0, 0), (100, 100))
    >>> block = daisy.Roi((0, 0), (10, 10))
    >>> task = daisy.Task("copy", roi, block, block, lambda block: None)
    >>> task.block_grid_shape
    [10, 10]
    >>> print(task.reset(), task.failed_blocks())  # nothing remembers which blocks are done
    None []
    """

    def __init__(
        self,
        task_id: str,
        total_roi: RoiLike,
        read_roi: RoiLike,
        write_roi: RoiLike,
        process_function: BlockFunction | WorkerFunction | None = None,
        check_function: CheckFunction | None = None,
        read_write_conflict: bool = True,
        fit: Fit = "valid",
        max_workers: int = 1,
        max_retries: int = 2,
        timeout: float | timedelta | None = None,
        done_marker_path: str | Path | Literal[False] | None = None,
        resource_tracking: bool = False,
        requires: Mapping[str, int] | None = None,
        max_worker_restarts: int = 10,
        skip_mask: Any = None,
        *,
        tracking_path: str | Path | Literal[False] | None = None,
        launcher: str | Launcher | None = None,
        give_up_after: int | None = 50,
        worker_processes: bool = True,
        **former: Any,
    ) -> None:
        if former:
            from daisy import _compat  # noqa: PLC0415 - only for spellings of 1.x

            max_workers = _compat.apply_former_arguments(former, max_workers)
        self._upstream_tasks: list[Task] = former.get("upstream_tasks") or []
        self.init_callback: Callable[[Any], Any] | None = former.get("init_callback_fn")
        arguments = _task_arguments
        self._timeout = arguments.timeout_seconds(timeout)
        self._requires = arguments.requirements("requires", requires)
        self._check_function = _check_function(check_function)
        self._options: dict[str, Any] = {
            "fit": fit,
            "read_write_conflict": arguments.flag("read_write_conflict", read_write_conflict),
            "max_workers": arguments.count("max_workers", max_workers, least=1),
            "max_retries": arguments.count("max_retries", max_retries, least=0),
            "max_worker_restarts": arguments.count(
                "max_worker_restarts", max_worker_restarts, least=0
            ),
            "give_up_after": None
            if give_up_after is None
            else arguments.count("give_up_after", give_up_after, least=1),
        }
        self._plan = _core.TaskPlan(
            arguments.name(task_id),
            total_roi,
            read_roi,
            write_roi,
            timeout=None if self._timeout is None else timedelta(seconds=self._timeout),
            requires={**self._requires},
            checked=check_function is not None,
            **self._options,
        )
        self._task_id = task_id
        self._runs: tuple[Callable[[int], None], ...] = ()
        self.process_function = process_function
        self._skip_mask = mask_argument(skip_mask, self._plan.block_grid_shape)
        self._tracking_path = _tracking.path_argument(tracking_path, done_marker_path)
        self._resource_tracking = arguments.flag("resource_tracking", resource_tracking)
        self._launcher = _launcher(
            launcher, worker_processes=arguments.flag("worker_processes", worker_processes)
        )
        _warn_of_no_blocks(self)

    @property
    def process_function(self) -> BlockFunction | WorkerFunction:
        """The function; may be set."""
        return self._process_function

    @process_function.setter
    def process_function(self, function: BlockFunction | WorkerFunction | None) -> None:
        if function is None:
            raise TypeError(
                f"task {self._task_id!r}: argument 'process_function': expected a function, got None; "
                "for a task that is only to be planned, pass lambda block: None"
            )
        self._function_kind = kind_of(function)
        self._process_function = function

    @property
    def function_kind(self) -> FunctionKind:
        """What the function is called with."""
        return self._function_kind

    @property
    def task_id(self) -> str:
        """Name of the task."""
        return self._task_id

    @property
    def total_roi(self) -> Any:
        """The volume, context included."""
        return self._plan.total_roi

    @property
    def total_write_roi(self) -> Any:
        """The volume without the context: what the blocks tile."""
        return self._plan.total_write_roi

    @property
    def read_roi(self) -> Any:
        """What one block reads."""
        return self._plan.read_roi

    @property
    def write_roi(self) -> Any:
        """What one block writes."""
        return self._plan.write_roi

    @property
    def fit(self) -> Fit:
        """What happens at the upper edge of the volume."""
        fit: Fit = self._options["fit"]
        return fit

    @property
    def read_write_conflict(self) -> bool:
        """Whether a block may not run while another writes what it reads."""
        return bool(self._options["read_write_conflict"])

    @property
    def max_workers(self) -> int:
        """Most workers of the task at a time; may be set, also while the task runs and from any thread.

        If there are more then, those that are too many end after their block. With 0 the task pauses.
        """
        return int(self._options["max_workers"])

    @max_workers.setter
    def max_workers(self, number: int) -> None:
        number = _task_arguments.count("max_workers", number, least=0)
        self._options = {**self._options, "max_workers": number}
        for tell in self._runs:
            tell(number)

    def _follow_max_workers(self, tell: Callable[[int], None]) -> Callable[[], None]:
        """Have a run told of ``max_workers`` now and whenever it is set; returns what ends that."""
        self._runs = (*self._runs, tell)
        tell(self.max_workers)

        def end() -> None:
            self._runs = tuple(other for other in self._runs if other is not tell)

        return end

    @property
    def max_retries(self) -> int:
        """Attempts of a block after its first."""
        return int(self._options["max_retries"])

    @property
    def max_worker_restarts(self) -> int:
        """Deaths of workers in a row, with no block completed between, that are replaced."""
        return int(self._options["max_worker_restarts"])

    @property
    def give_up_after(self) -> int | None:
        """Blocks that fail for good before any succeeded, after which the task is abandoned."""
        value = self._options["give_up_after"]
        return None if value is None else int(value)

    @property
    def timeout_secs(self) -> float | None:
        """Seconds that one attempt may take, or None."""
        return self._timeout

    @property
    def requires(self) -> dict[str, int]:
        """What each worker needs of the run's resources."""
        return dict(self._requires)

    @property
    def check_function(self) -> CheckFunction | None:
        """Says whether a block is done already."""
        return self._check_function

    @property
    def resource_tracking(self) -> bool:
        """Whether time, memory and I/O of each block are measured."""
        return self._resource_tracking

    @property
    def tracking_path(self) -> str | Literal[False] | None:
        """The tracking store as it was given: a path, False for none, None for the default."""
        return self._tracking_path

    @property
    def done_marker_path(self) -> str | Literal[False] | None:
        """Former name of ``tracking_path``."""
        return self._tracking_path

    @property
    def launcher(self) -> str | Launcher:
        """How workers start."""
        return self._launcher

    @property
    def block_grid_shape(self) -> list[int]:
        """Blocks per axis."""
        return self._plan.block_grid_shape

    @property
    def skip_mask(self) -> Any:
        """A copy of the mask, the function that says it, or None."""
        mask = self._skip_mask
        return mask if mask is None or callable(mask) else mask.copy()

    if not TYPE_CHECKING:  # or every attribute would seem to exist

        def __getattr__(self, name: str) -> Any:
            """Attributes of daisy 1.x."""
            if name.startswith("_"):
                raise AttributeError(f"'Task' object has no attribute {name!r}")
            from daisy import _compat  # noqa: PLC0415 - only for spellings of 1.x

            return _compat.former_attribute(self, name)

    def reset(self) -> Path | None:
        """Forget which blocks are done: delete the tracking store.

        Returns:
            Where it was, or None if the task has none.

        Raises:
            StoreError: Something else lies at its path.
            StoreLocked: A run is using it.
        """
        return _tracking.reset(self)

    def failed_blocks(self) -> list[_core.Block]:
        """The blocks that failed in earlier runs and are not done, as the tracking store has them."""
        return _tracking.failed_blocks(self)

    def __add__(self, other: object) -> Pipeline:
        """This task, then ``other``."""
        from daisy._pipeline import Pipeline  # noqa: PLC0415 - a pipeline is made of tasks

        return Pipeline.from_task(self).__add__(other)

    def __or__(self, other: object) -> Pipeline:
        """This task beside ``other``."""
        from daisy._pipeline import Pipeline  # noqa: PLC0415 - a pipeline is made of tasks

        return Pipeline.from_task(self).__or__(other)

    def __reduce__(self) -> str:
        raise TypeError(
            f"task {self._task_id!r} cannot be pickled; send its block function to where it is needed, "
            "or make the task there"
        )

    def __copy__(self) -> Task:
        copied = object.__new__(type(self))
        copied.__dict__.update(self.__dict__)
        copied._runs = ()
        return copied

    def __deepcopy__(self, memo: dict[int, Any]) -> Task:
        return self.__copy__()

    def __repr__(self) -> str:
        return f"<daisy.Task {self._task_id!r}: {self._plan.block_count} blocks>"


Task.__module__ = "daisy"


def _check_function(function: CheckFunction | None) -> CheckFunction | None:
    if function is None:
        return None
    if not callable(function):
        _task_arguments.refuse(
            TypeError, "check_function", function, "a function of one block, or None"
        )
    # What it returned would be true, and every block would count as done.
    refuse_asynchronous(function, "check_function")
    warnings.warn(
        "check_function= is asked for every block of every run; tracking_path= remembers done blocks "
        "itself and skips them without asking",
        UserWarning,
        stacklevel=3,
    )
    return function


def _launcher(launcher: str | Launcher | None, *, worker_processes: bool) -> str | Launcher:
    if launcher is None:
        return "process" if worker_processes else "thread"
    if not worker_processes and launcher != "thread":
        raise ValueError(
            f"argument 'launcher': expected 'thread' or nothing beside worker_processes=False, "
            f"got {launcher!r}"
        )
    if isinstance(launcher, str) or hasattr(launcher, "launch"):
        return launcher
    expected = "the name of a launcher, or an object with launch()"
    return _task_arguments.refuse(TypeError, "launcher", launcher, expected)


def _warn_of_no_blocks(task: Task) -> None:
    if task._plan.block_count == 0:
        warnings.warn(
            f"task {task.task_id!r} has no blocks: its total_roi is smaller than one block with its "
            "context",
            UserWarning,
            stacklevel=3,
        )
