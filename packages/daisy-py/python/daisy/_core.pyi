from _typeshed import Incomplete, SupportsGetItem
from datetime import timedelta
from os import PathLike
from pathlib import Path
from typing import Any, Final, SupportsFloat, SupportsIndex, final
from typing_extensions import disjoint_base

__all__ = ["__version__", "Block", "BlockIterator", "BlockStats", "BlockwiseDependencyGraph", "DependencyGraph", "DependencyIterator", "IdIterator", "IdSet", "Meter", "PipelinePlan", "Request", "Run", "RunOptions", "RunOutcome", "Scheduler", "SerialRun", "TaskFacts", "TaskPlan", "TaskState", "TrackingStore", "WorkerConnection", "check_address", "end_with_parent", "failed_block_indices", "inspect_tracking", "mask_of_boxes", "note_fork", "refuse_unfinished", "reset_tracking", "settle_status", "task_facts"]

__version__: Final[str]

@final
class Block:
    """
    One block: what may be read, what must be written, and how it went.

    Parameters
    ----------
    total_roi, read_roi, write_roi : Roi
        In world units. The total ROI includes the context.
    task_id : str, optional
        The name of the task.
    block_id : int, optional
        The public number of the block; computed from its place if it is not given.

    Raises
    ------
    TypeError, ValueError
        A wrong argument.

    >>> import daisy
    >>> total, cell = daisy.Roi((0, 0), (40, 40)), daisy.Roi((10, 0), (10, 10))
    >>> block = daisy.Block(total, cell, cell, "copy")
    >>> block.block_id, block.write_roi.begin, block.status.name
    (('copy', 2), (10, 0), 'CREATED')
    >>> block.copy() == block
    True
    """
    def __copy__(self, /) -> Block: ...
    def __deepcopy__(self, /, _memo: Any) -> Block: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ge__(self, other: object, /) -> bool: ...
    def __gt__(self, other: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...
    def __le__(self, other: object, /) -> bool: ...
    def __lt__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __new__(cls, /, total_roi: Any, read_roi: Any, write_roi: Any, task_id: str | None = None, block_id: Any | None = None) -> Block: ...
    def __reduce__(self, /) -> tuple: ...
    def __repr__(self, /) -> str: ...
    def __setstate__(self, /, state: tuple[SupportsIndex, BlockStats | None]) -> None: ...
    @property
    def block_id(self, /) -> tuple[str | None, int]:
        """
        `(task_id, number)`: the same in every run with the same total ROI begin and block shape.
        """
    def copy(self, /) -> Block:
        """
        A block of its own with the same values.
        """
    @property
    def read_roi(self, /) -> Any:
        """
        What may be read, in world units.
        """
    @property
    def requested_write_roi(self, /) -> Any:
        """
        The write ROI before it was cut at the edge of the volume.
        """
    @property
    def stats(self, /) -> BlockStats | None:
        """
        What was measured of the block, or None.
        """
    @stats.setter
    def stats(self, /, stats: BlockStats | None) -> None: ...
    @property
    def status(self, /) -> Any:
        """
        How the block stands; set it to `BlockStatus.FAILED` to fail without an exception.
        """
    @status.setter
    def status(self, /, status: Any) -> None: ...
    @property
    def task_id(self, /) -> str | None:
        """
        The name of the task.
        """
    @property
    def total_roi(self, /) -> Any:
        """
        The total ROI of the task.
        """
    @property
    def write_roi(self, /) -> Any:
        """
        What must be written, in world units.
        """

@final
class BlockIterator:
    """
    Blocks of a box of the grid, or those of one level in it, row-major.
    """
    def __iter__(self, /) -> BlockIterator: ...
    def __next__(self, /) -> Block: ...

@final
class BlockStats:
    """
    What was measured of one block.

    Parameters
    ----------
    wall_seconds, cpu_seconds : float
        Time on the clock, and of all processors together (threads and children of the block included).
    peak_rss_bytes : int
        Largest resident memory of the worker up to the end of the block.
    io_read_bytes, io_write_bytes : int
        Bytes through read and write calls.
    gpu_util_pct, gpu_mem_bytes : float, int
        Percent and bytes, for users who measure a GPU; NaN and 0 if nobody did.

    >>> import daisy
    >>> stats = daisy.BlockStats(2.0, 1.5, 10**8, 4096, 0)
    >>> stats.wall_seconds, stats.gpu_mem_bytes
    (2.0, 0)
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, wall_seconds: SupportsFloat | SupportsIndex, cpu_seconds: SupportsFloat | SupportsIndex, peak_rss_bytes: SupportsIndex, io_read_bytes: SupportsIndex, io_write_bytes: SupportsIndex, gpu_util_pct: SupportsFloat | SupportsIndex = ..., gpu_mem_bytes: SupportsIndex = 0) -> BlockStats: ...
    def __reduce__(self, /) -> tuple: ...
    def __repr__(self, /) -> str: ...
    @property
    def cpu_seconds(self, /) -> float:
        """
        Seconds of processor time.
        """
    @property
    def gpu_mem_bytes(self, /) -> int:
        """
        Memory of a GPU in bytes.
        """
    @property
    def gpu_util_pct(self, /) -> float:
        """
        Utilisation of a GPU in percent, or NaN.
        """
    @property
    def io_read_bytes(self, /) -> int:
        """
        Bytes read.
        """
    @property
    def io_write_bytes(self, /) -> int:
        """
        Bytes written.
        """
    @property
    def peak_rss_bytes(self, /) -> int:
        """
        Largest resident memory in bytes.
        """
    @property
    def wall_seconds(self, /) -> float:
        """
        Seconds on the clock.
        """

@final
class BlockwiseDependencyGraph:
    """
    The blocks of one task, and which waits for which.

    Parameters
    ----------
    task_id : str
    read_roi, write_roi : Roi
        Of a block.
    read_write_conflict : bool
        Whether a block may not run while another writes what it reads.
    fit : {"valid", "overhang", "shrink"}
    total_read_roi : Roi, optional
        The volume, context included.
    total_write_roi : Roi, optional
        The volume without the context; one of the two must be given.

    Raises
    ------
    ValueError
        A geometry that cannot be, or no volume.

    >>> import daisy
    >>> total, read, write = daisy.Roi((0,), (50,)), daisy.Roi((0,), (14,)), daisy.Roi((2,), (10,))
    >>> graph = daisy.BlockwiseDependencyGraph("smooth", read, write, True, "valid", total)
    >>> graph.num_blocks, graph.num_levels, graph.num_roots()
    (4, 2, 2)
    >>> root = next(graph.root_gen())
    >>> [block.write_roi.begin[0] for block in graph.downstream(root)]
    [2, 22]
    >>> [len(graph.upstream(block)) for block in graph.level_blocks(1)]
    [1, 2]
    >>> sum(len(upstream) for block, upstream in graph.enumerate_all_dependencies())
    3
    >>> len(graph.get_subgraph_blocks(daisy.Roi((0,), (20,))))
    2
    """
    def __new__(cls, /, task_id: str, read_roi: Incomplete, write_roi: Incomplete, read_write_conflict: bool, fit: Any, total_read_roi: Incomplete | None = None, total_write_roi: Incomplete | None = None) -> BlockwiseDependencyGraph: ...
    def downstream(self, /, block: Block) -> list[Block]:
        """
        The blocks of the task that wait for this one.

        Parameters
        ----------
        block : Block
            A block of the task.

        Raises
        ------
        ValueError
            It is no block of the task.
        """
    def enumerate_all_dependencies(self, /) -> DependencyIterator:
        """
        Every block with the blocks that it waits for.
        """
    def get_subgraph_blocks(self, /, roi: Incomplete, read_roi: bool = False) -> list[Block]:
        """
        The blocks whose write ROI (or read ROI) meets `roi`.

        Parameters
        ----------
        roi : Roi
            In world units.
        read_roi : bool
            Whether the read ROIs are looked at instead of the write ROIs.
        """
    def level_blocks(self, /, level: SupportsIndex) -> BlockIterator:
        """
        The blocks of one level.

        Parameters
        ----------
        level : int
            From 0 to `num_levels` - 1.

        Raises
        ------
        ValueError
            There is no such level.
        """
    @property
    def num_blocks(self, /) -> int:
        """
        Number of blocks.
        """
    @property
    def num_levels(self, /) -> int:
        """
        Number of groups of blocks that can never conflict.
        """
    def num_roots(self, /) -> int:
        """
        Number of blocks that wait for no other.
        """
    def root_gen(self, /) -> BlockIterator:
        """
        The blocks that wait for no other.
        """
    @property
    def total_write_roi(self, /) -> Any:
        """
        The volume without the context.
        """
    def upstream(self, /, block: Block) -> list[Block]:
        """
        The blocks of the task that this one waits for.

        Parameters
        ----------
        block : Block
            A block of the task.

        Raises
        ------
        ValueError
            It is no block of the task.
        """

@disjoint_base
class DependencyGraph:
    """
    The blocks of a whole pipeline, and which waits for which.
    """
    def __new__(cls, /, plan: PipelinePlan) -> DependencyGraph: ...
    def downstream(self, /, block: Block) -> list[Block]:
        """
        The blocks that wait for this one, of its task and of others.

        Parameters
        ----------
        block : Block
            A block of one of the tasks.

        Raises
        ------
        ValueError
            It is no block of these tasks.
        """
    def num_blocks(self, /, task_id: str) -> int:
        """
        Number of blocks of a task.

        Parameters
        ----------
        task_id : str
            Name of the task.

        Raises
        ------
        ValueError
            There is no such task.
        """
    def root_tasks(self, /) -> list[str]:
        """
        Names of the tasks that read from no other.
        """
    def roots(self, /) -> list[tuple[str, BlockIterator]]:
        """
        Blocks of the tasks that read from no other which wait for nothing, by task.
        """
    @property
    def task_ids(self, /) -> list[str]:
        """
        Names of the tasks.
        """
    def upstream(self, /, block: Block) -> list[Block]:
        """
        The blocks that this one waits for, of its task and of others.

        Parameters
        ----------
        block : Block
            A block of one of the tasks.

        Raises
        ------
        ValueError
            It is no block of these tasks.
        """

@final
class DependencyIterator:
    """
    `(block, [blocks that it waits for])`, level by level.
    """
    def __iter__(self, /) -> DependencyIterator: ...
    def __next__(self, /) -> tuple[Block, list[Block]]: ...

@final
class IdIterator:
    """
    Iterator over an [`IdSet`].
    """
    def __iter__(self, /) -> IdIterator: ...
    def __next__(self, /) -> int: ...

@final
class IdSet:
    """
    Block ids of one task, in the order of their places.
    """
    def __contains__(self, id: SupportsIndex, /) -> bool: ...
    def __iter__(self, /) -> IdIterator: ...
    def __len__(self, /) -> int: ...
    def at(self, /, position: SupportsIndex) -> int:
        """
        The id at this position.
        """

@final
class Meter:
    """
    Reads what this process uses, from when it was made.
    """
    def __new__(cls, /) -> Meter: ...
    def read(self, /) -> BlockStats:
        """
        What was used since.
        """

@final
class PipelinePlan:
    """
    What `daisy.Pipeline` becomes when something is done with it.
    """
    def __new__(cls, /, tasks: SupportsGetItem[int, TaskPlan], edges: SupportsGetItem[int, tuple[SupportsIndex, SupportsIndex]]) -> PipelinePlan: ...
    def order(self, /) -> list[int]:
        """
        Positions of the tasks in an order in which data flows.
        """

@disjoint_base
class Request:
    """
    Something to do; tasks are positions in the plan.
    """
    @final
    class BlockFailed(Request):
        """
        An attempt failed.
        """
        __match_args__: Final = ("task", "number", "attempt", "worker", "block", "error")
        def __new__(cls, /, task: SupportsIndex, number: SupportsIndex, attempt: SupportsIndex, worker: SupportsIndex, block: Block, error: str) -> Request.BlockFailed: ...
        @property
        def attempt(self, /) -> int:
            """
            Which attempt, from 1.
            """
        @property
        def block(self, /) -> Block:
            """
            The block.
            """
        @property
        def error(self, /) -> str:
            """
            Traceback or cause.
            """
        @property
        def number(self, /) -> int:
            """
            Public number of the block.
            """
        @property
        def task(self, /) -> int:
            """
            Position of the task.
            """
        @property
        def worker(self, /) -> int:
            """
            Who had it.
            """
    @final
    class Check(Request):
        """
        Ask `check_function` about a block.
        """
        __match_args__: Final = ("task", "index", "block")
        def __new__(cls, /, task: SupportsIndex, index: SupportsIndex, block: Block) -> Request.Check: ...
        @property
        def block(self, /) -> Block:
            """
            The block.
            """
        @property
        def index(self, /) -> int:
            """
            Index of the block.
            """
        @property
        def task(self, /) -> int:
            """
            Position of the task.
            """
    @final
    class Ended(Request):
        """
        The run has ended; nothing follows.
        """
        __match_args__: Final = ()
        def __new__(cls, /) -> Request.Ended: ...
    @final
    class Kill(Request):
        """
        End the process of a worker.
        """
        __match_args__: Final = ("worker", "reason")
        def __new__(cls, /, worker: SupportsIndex, reason: str) -> Request.Kill: ...
        @property
        def reason(self, /) -> str:
            """
            Why.
            """
        @property
        def worker(self, /) -> int:
            """
            Which one.
            """
    @final
    class Launch(Request):
        """
        Start these workers.
        """
        __match_args__: Final = ("task", "workers")
        def __new__(cls, /, task: SupportsIndex, workers: SupportsGetItem[int, SupportsIndex]) -> Request.Launch: ...
        @property
        def task(self, /) -> int:
            """
            Position of the task.
            """
        @property
        def workers(self, /) -> list[int]:
            """
            Ids that they must register with.
            """
    @final
    class Note(Request):
        """
        Something to log.
        """
        __match_args__: Final = ("level", "text")
        def __new__(cls, /, level: str, text: str) -> Request.Note: ...
        @property
        def level(self, /) -> str:
            """
            How grave: `debug`, `info` or `warning`.
            """
        @property
        def text(self, /) -> str:
            """
            The text.
            """
    @final
    class TaskEnded(Request):
        """
        A task has ended.
        """
        __match_args__: Final = ("task",)
        def __new__(cls, /, task: SupportsIndex) -> Request.TaskEnded: ...
        @property
        def task(self, /) -> int:
            """
            Position of the task.
            """

@final
class Run:
    """
    A run that goes on. Every method may be called from any thread.
    """
    def __new__(cls, /, plan: PipelinePlan, options: RunOptions) -> Run:
        """
        Binds the server and starts its thread.
        """
    @property
    def addresses(self, /) -> list[str]:
        """
        Where workers reach the server, the most likely first.
        """
    def cancel(self, /) -> None:
        """
        Ends the run: no new blocks, workers killed.
        """
    def checked(self, /, task: SupportsIndex, index: SupportsIndex, done: bool) -> None:
        """
        `check_function` has answered.
        """
    def connected_workers(self, /) -> list[int]:
        """
        Ids of the workers that are connected now, a moment old.
        """
    def join(self, /) -> tuple[RunOutcome, Any | None]:
        """
        Waits for the end of the run, once only; returns what it came to, and the error that stopped it.
        """
    def next_request(self, /, wait: timedelta) -> Request | None:
        """
        The next thing to do, waited for at most this many seconds.
        """
    def set_max_workers(self, /, task: SupportsIndex, max_workers: SupportsIndex) -> None:
        """
        Changes the most workers of a task.
        """
    def snapshot(self, /) -> dict:
        """
        The state of each task by name, a moment old.
        """
    def worker_detached(self, /, worker: SupportsIndex, cause: str, log_tail: str) -> None:
        """
        What started a worker is done; the worker may live on, or come later.
        """
    def worker_exited(self, /, worker: SupportsIndex, clean: bool, cause: str, log_tail: str, *, outside: bool = False) -> None:
        """
        The process or thread of a worker ended, or could not be started; `outside`: by no fault of its own.
        """
    def write_token(self, /, path: str | PathLike[str]) -> None:
        """
        Writes the run's secret to a new file that only this user can read.
        """

@final
class RunOptions:
    """
    Where a run listens and what it has; made by `daisy._run_arguments`.
    """
    def __new__(cls, /, *, resources: dict[str, SupportsIndex], host: str | None, ports: tuple[SupportsIndex, SupportsIndex], all_local: bool, tls: bool | None, masks: SupportsGetItem[int, bytes | bytearray | None], stores: SupportsGetItem[int, TrackingStore | None], measures: SupportsGetItem[int, bool], connect_timeout: timedelta, reconnect_grace: timedelta, heartbeat: timedelta, stall_after: timedelta | None) -> RunOptions: ...

@final
class RunOutcome:
    """
    What became of each task; ids of blocks are made when they are asked for.
    """
    def block_seconds(self, /, task: SupportsIndex) -> bytes:
        """
        Seconds per block of a task, as little-endian 32-bit floats, row-major, NaN where none succeeded in this run;
        empty for tasks that are too large.
        """
    def block_states(self, /, task: SupportsIndex) -> bytes:
        """
        State of each block of a task as a byte, row-major; empty for tasks that are too large.
        """
    @property
    def cancelled(self, /) -> bool:
        """
        Whether the run was cancelled.
        """
    def errors(self, /) -> list[tuple[str, str, int, str, list[tuple[str, int]]]]:
        """
        Grouped errors: `(task, summary, count, first traceback, example block ids)`.
        """
    def failed(self, /) -> list[tuple[str, IdSet]]:
        """
        Ids of failed blocks, for each task that has some.
        """
    @property
    def has_succeeded(self, /) -> bool:
        """
        Whether every block of every task is done.
        """
    def history(self, /) -> str:
        """
        What happened when, as JSON.
        """
    def orphaned(self, /) -> list[tuple[str, IdSet]]:
        """
        Ids of orphaned blocks, for each task that has some.
        """
    @property
    def states(self, /) -> dict:
        """
        Final states by task name, in the order in which data flows.
        """
    def stats(self, /) -> str:
        """
        What was counted and measured, as JSON; `docs/design/RUN_STATS.md` describes it.
        """

@disjoint_base
class Scheduler:
    """
    What `daisy.Scheduler` is made of.
    """
    def __new__(cls, /, plan: PipelinePlan) -> Scheduler: ...
    def acquire_block(self, /, task_id: str) -> Block | None:
        """
        The next ready block of a task, or None if none is ready or there is no such task.

        Parameters
        ----------
        task_id : str
            Name of the task.
        """
    @property
    def dependency_graph(self, /) -> DependencyGraph:
        """
        Who waits for whom.
        """
    def ready_tasks(self, /) -> list[str]:
        """
        Names of the tasks that have a block ready.
        """
    def release_block(self, /, block: Block) -> None:
        """
        Gives a block back; its status says how it went.

        Parameters
        ----------
        block : Block
            One that `acquire_block` gave.

        Raises
        ------
        RefusedError
            If its status is neither SUCCESS nor FAILED, or the block is not held. Nothing is changed then.
        """
    @property
    def task_states(self, /) -> dict:
        """
        The state of each task by name.
        """

@final
class SerialRun:
    """
    A run in the caller's thread.
    """
    def __new__(cls, /, plan: PipelinePlan) -> SerialRun: ...
    def run(self, /, options: RunOptions, functions: SupportsGetItem[int, Any], meters: SupportsGetItem[int, Any | None], checks: SupportsGetItem[int, Any | None], interrupted: Any) -> tuple[RunOutcome, Any | None]:
        """
        Runs to the end, or to the first exception; returns what it came to, and the exception.

        `functions`, `meters` and `checks` have an entry per task. No block begins after `interrupted()` is true: a
        block may have swallowed the exception of Ctrl-C.
        """
    def snapshot(self, /) -> dict:
        """
        The state of each task by name, a moment old.
        """

@final
class TaskFacts:
    """
    Facts of one task of a plan.
    """
    @property
    def block_grid_shape(self, /) -> list[int]:
        """
        Blocks per axis.
        """
    @property
    def blocks(self, /) -> int:
        """
        Number of blocks.
        """
    @property
    def levels(self, /) -> int:
        """
        Groups of blocks that can never conflict.
        """
    @property
    def parallelism(self, /) -> int:
        """
        Blocks of the largest level: the most that can run at once.
        """
    @property
    def read_per_write(self, /) -> float:
        """
        Voxels read per voxel written, for a whole block.
        """
    @property
    def uncovered(self, /) -> list[tuple[int, int]]:
        """
        Blocks that read something that an upstream task does not write, per upstream task position.
        """

@final
class TaskPlan:
    """
    What `daisy.Task` holds: checked once, when it is made.
    """
    def __new__(cls, /, task_id: str, total_roi: Any, read_roi: Any, write_roi: Any, *, fit: Any, read_write_conflict: bool, max_workers: SupportsIndex, max_retries: SupportsIndex, max_worker_restarts: SupportsIndex, give_up_after: SupportsIndex | None, timeout: timedelta | None, requires: dict[str, SupportsIndex], checked: bool) -> TaskPlan: ...
    def block_at(self, /, index: SupportsIndex) -> Block:
        """
        The block at this dense, row-major index.
        """
    @property
    def block_count(self, /) -> int:
        """
        Number of blocks.
        """
    @property
    def block_grid_shape(self, /) -> list[int]:
        """
        Blocks per axis.
        """
    @property
    def dims(self, /) -> int:
        """
        Number of axes.
        """
    @property
    def read_roi(self, /) -> Any:
        """
        The read ROI of a block, as the user gave it.
        """
    @property
    def total_roi(self, /) -> Any:
        """
        The total ROI, context included.
        """
    @property
    def total_write_roi(self, /) -> Any:
        """
        The total ROI shrunk by the context.
        """
    @property
    def write_roi(self, /) -> Any:
        """
        The write ROI of a block, as the user gave it.
        """

@final
class TaskState:
    """
    The counts of a task at one moment.

    ``total_block_count`` is the sum of the pending, ready, processing, completed, failed and orphaned blocks;
    skipped blocks are among the completed.

    >>> import daisy
    >>> total, cell = daisy.Roi((0,), (40,)), daisy.Roi((0,), (10,))
    >>> task = daisy.Task("copy", total, cell, cell, lambda block: None)
    >>> result = daisy.run_blockwise(task, multiprocessing=False, progress=False, summary=False)
    >>> state = result.states["copy"]
    >>> state.completed_count, state.failed_count, state.is_done()
    (4, 0, True)
    """
    def __repr__(self, /) -> str: ...
    @property
    def abandon_reason(self, /) -> str | None:
        """
        Why the task was given up, or None.
        """
    @property
    def abandoned(self, /) -> bool:
        """
        Whether the task was given up.
        """
    @property
    def blocks_processed(self, /) -> int:
        """
        Returns accepted from workers, successes and failures.
        """
    @property
    def completed_count(self, /) -> int:
        """
        Blocks that are done, those skipped included.
        """
    @property
    def failed_attempt_count(self, /) -> int:
        """
        Attempts that failed, for whatever reason.
        """
    @property
    def failed_count(self, /) -> int:
        """
        Blocks of which every attempt failed.
        """
    @property
    def first_worker_error(self, /) -> str | None:
        """
        How the first worker that ended badly ended, or None.
        """
    def is_done(self, /) -> bool:
        """
        Whether nothing more will happen to any block.
        """
    @property
    def last_worker_error(self, /) -> str | None:
        """
        How the last worker that ended badly ended, or None.
        """
    @property
    def orphaned_count(self, /) -> int:
        """
        Blocks that could not run because one that they depend on failed, or the task was abandoned.
        """
    @property
    def pending_count(self, /) -> int:
        """
        Blocks that wait for others.
        """
    @property
    def processing_count(self, /) -> int:
        """
        Blocks that workers hold.
        """
    @property
    def ready_count(self, /) -> int:
        """
        Blocks that could start now.
        """
    @property
    def refused_report_count(self, /) -> int:
        """
        Reports of workers that were refused.
        """
    @property
    def skipped_count(self, /) -> int:
        """
        Blocks that did not have to run.
        """
    @property
    def started(self, /) -> bool:
        """
        Whether anything was ever given out or settled.
        """
    @property
    def timeout_reclaim_count(self, /) -> int:
        """
        Attempts that were taken away because they took longer than the timeout.
        """
    @property
    def timeout_secs(self, /) -> float | None:
        """
        The timeout of the task in seconds, or None.
        """
    @property
    def total_block_count(self, /) -> int:
        """
        All blocks.
        """
    @property
    def worker_failure_count(self, /) -> int:
        """
        Workers that ended badly, or never connected.
        """
    @property
    def worker_restart_count(self, /) -> int:
        """
        Workers that were started in the place of one that ended badly.
        """
    @property
    def worker_start_count(self, /) -> int:
        """
        Workers that were started.
        """

@final
class TrackingStore:
    """
    The tracking store of one task, open and locked for one run.
    """
    def __new__(cls, /, path: str | PathLike[str], plan: TaskPlan, host: str, measured: bool, settings: str, mask: bytes | bytearray | None) -> TrackingStore:
        """
        Opens the store of a task, or makes it. `host` is the name of this machine, for the lock; `mask` has a byte per
        block, `settings` is JSON, and both are kept with it.
        """
    def close(self, /) -> None:
        """
        Releases the lock of a store that no run has taken.
        """
    @property
    def notices(self, /) -> list[str]:
        """
        Lines for the log.
        """
    @property
    def path(self, /) -> Path: ...

@final
class WorkerConnection:
    """
    A worker's connection to its driver; usable from several threads at once.
    """
    def __new__(cls, /, *, addresses: SupportsGetItem[int, str], token_file: str | PathLike[str], task_id: str, worker_id: SupportsIndex | None, capacity: SupportsIndex, owns_process: bool) -> WorkerConnection:
        """
        Connects, proves the token of the run, and registers for the task.
        """
    def acquire(self, /) -> Block | None:
        """
        The next block, or None if there will be no more.
        """
    def close(self, /) -> None:
        """
        Sends what is left and says good-bye.
        """
    def drain(self, /) -> None:
        """
        Takes no more blocks; those not started go back.
        """
    @property
    def measures(self, /) -> bool:
        """
        Whether reports should carry measurements.
        """
    def process_blocks(self, /, function: Any, meter: Any | None, on_failure: Any) -> int:
        """
        Calls `function` with each block until there are no more; returns how many.

        `on_failure(block, exception or None, what to say without one)` returns the text that is reported; what it raises ends the loop.
        """
    def report(self, /, block: Block, error: str | None, stats: BlockStats | None) -> None:
        """
        Reports on a block that `acquire` gave; `error` is the text of a failure, None for a success.
        """
    def watch_notice(self, /, *, walltime: timedelta | None, notice: timedelta, grace: timedelta, signals: SupportsGetItem[int, SupportsIndex]) -> int:
        """
        Leaves in time: when one of `signals` is written to the file descriptor that is returned, or `notice` before
        `walltime` is over. After a signal the process has `grace` left.
        """
    @property
    def worker_id(self, /) -> int:
        """
        The id that the driver knows this worker by.
        """

def check_address(address: str, token_file: str | PathLike[str]) -> float:
    """
    Connects to a driver and has both sides prove the token, and nothing more; returns the seconds that took.
    """

def end_with_parent(parent: SupportsIndex) -> bool:
    """
    Ends this process when the thread that started it ends; returns whether the parent is still there.

    The question must be asked after the signal is set: a parent that died before sends none.
    """

def failed_block_indices(path: str | PathLike[str], plan: TaskPlan) -> list[int]:
    """
    Indices of the blocks that failed and are not done, as the store at a path has them.
    """

def inspect_tracking(path: str | PathLike[str], host: str) -> tuple[str, bytes, bytes] | None:
    """
    What the store at a path holds: JSON, and per block a byte of state and a little-endian 32-bit float of seconds,
    row-major, both empty for a task that is too large; `None` if no store is there.
    """

def mask_of_boxes(shape: SupportsGetItem[int, SupportsIndex], boxes: SupportsGetItem[int, tuple[SupportsGetItem[int, SupportsIndex], SupportsGetItem[int, SupportsIndex]]]) -> bytes:
    """
    A mask with a byte per block of a grid of this shape: 1 in these boxes, which are pairs of positions, 0 elsewhere.
    """

def note_fork() -> None:
    """
    Called in the child of a fork: it must not speak for the worker that it was forked from.
    """

def refuse_unfinished(value: Any, what: str) -> None:
    """
    Refuses what a function of the user's returned if its work is not done: a coroutine, a generator, a future.
    """

def reset_tracking(path: str | PathLike[str], host: str) -> bool:
    """
    Deletes the tracking store at a path, and nothing else; whether there was one.
    """

def settle_status(block: Block, raised: bool) -> str | None:
    """
    Sets the status of a block after its call; returns what to say if that was a failure without an exception's text.
    """

def task_facts(plan: PipelinePlan) -> list[TaskFacts]:
    """
    The facts of each task, by position.
    """
