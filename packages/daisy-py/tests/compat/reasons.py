"""Why the surface differs from the published one; a row that is not here fails the test."""

from __future__ import annotations

_LEVELS = "a step of the computation in 1.x; levels and blocks are asked for by level_blocks() and root_gen()"
_QUEUES = (
    "an inner part of the scheduler of 1.x; task_states and dependency_graph say what can be known"
)
_TRACEBACK = "daisy's own use of it; takes the exception, which carries its type and traceback"
_HOW = "how workers start: by name, by object, or as threads"
_GRAPH = "takes the pipeline, as in 1.x, and not an object of the extension; same place"

# The beginning of a row, and its reason.
REASONS: dict[str, str] = {
    "BlockStats(gpu_util_pct)": "the same value: the extension shows `...` for NaN in its signature",
    "BlockwiseDependencyGraph(total_write_roi)": "the last argument of 1.x is back",
    "BlockwiseDependencyGraph.": _LEVELS,
    "DependencyGraph(": _GRAPH,
    "Scheduler(count_all_orphans)": "an argument of 1.x is taken; orphans are always counted",
    "Scheduler(": _GRAPH,
    "Scheduler.": _QUEUES,
    "SerialServer.run_blockwise(scheduler)": "an argument of 1.x is taken and not used",
    "Server(host)": "an argument of 1.x is back",
    "Task(give_up_after)": "a task of which nothing works is given up early",
    "Task(launcher)": _HOW,
    "Task(worker_processes)": _HOW,
    "logging.emit_failure(": _TRACEBACK,
    "logging.format_traceback(": _TRACEBACK,
    "logging.set_traceback_style(style)": "calls without arguments restore the default",
    "run_blockwise(port)": "a firewall may let only some ports through",
    "run_blockwise(worker_processes)": _HOW,
}

# What is done differently on purpose, in words: behaviour has no signature.
BEHAVIOUR: list[tuple[str, str, str, str]] = [
    ("`run_blockwise` returns", "`bool`", "a `RunResult`", "it compares and tests like the bool, and says what failed"),
    ("`timeout=None`", "600 s", "no limit", "slow blocks were killed unasked; the stall report speaks instead"),
    ("`BlockStatus`", "`int` (1.x: `Enum`)", "`IntEnum`", "serves programs for both"),
    ("an exception in a block", "its worker ends", "one attempt is used up", "ten bad blocks ended a run"),
    ("a task is abandoned", "`RuntimeError`", "a falsy result", "the same kind of answer as for one failed block"),
    ("a raising `check_function`", "a warning, the block runs", "the run stops with it", "an error is no answer"),
    ("wrong arguments", "found by workers, or a panic", "refused at `Task(...)`", "nothing is started in vain"),
    ("`f(*args)`", "a worker function", "a block function", "it can be called with a block"),
    ("`async` and generator functions", "their body never runs", "`TypeError`", "success was reported for nothing"),
    ("a launch function returns at once", "the run ends", "its worker is awaited", "`sbatch` returns at once"),
    ("local runs listen on", "every interface", "loopback, with a secret", "strangers were given blocks"),
    ("`DAISY_CONTEXT`", "`k=v:k=v`, also in the driver", "one record, in workers only", "survives any character"),
    ("function shipping", "cloudpickle", "dill, modules by reference", "locks in modules; scripts"),
    ("releasing a block wrongly", "a panic, or nothing", "`RefusedError`", "counts stay right"),
    ("`Task.reset()`", "deletes whatever is there", "deletes a store only", "a wrong path is no disaster"),
    ("`worker_<n>` logs", "by thread of the driver", "by worker id", "the file is that of its worker"),
    ("`requires` of a task", "dict (1.x: method)", "dict", "2.0.0 decides where both differ"),
    ("`init_callback_fn`", "`TypeError`", "called in the driver; as in 1.x not in serial runs", "1.x programs run"),
    ("`ServerObserver`", "gone (1.x: called at once)", "told up to 0.5 s late", "an observer cannot slow a run"),
    ("`daisy.messages`, `daisy.tcp`, inner modules of 1.x", "gone", "gone", "nothing else used them"),
]  # fmt: skip


def reason_of(row: str) -> str | None:
    """The reason of a difference, the longest entry first."""
    fitting = [start for start in REASONS if row.startswith(start)]
    return REASONS[max(fitting, key=len)] if fitting else None
