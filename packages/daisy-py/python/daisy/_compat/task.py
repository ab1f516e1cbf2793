"""Arguments and attributes that ``Task`` had in daisy 1.x."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from daisy._compat.warn import warn_of_former

if TYPE_CHECKING:
    from daisy._task import Task

_INSTEAD_OF_ARGUMENT = {
    "num_workers": "Task(max_workers=...)",
    "upstream_tasks": "a pipeline: (a | b) + task",
    "init_callback_fn": "the call before run_blockwise(...), or in the function of the worker",
}


def apply_former_arguments(former: dict[str, Any], max_workers: int) -> int:
    """Check what ``Task`` was given in the words of daisy 1.x.

    Args:
        former: The keywords that ``Task`` does not know itself; ``upstream_tasks`` becomes a list in it.
        max_workers: What was given in today's word.

    Returns:
        The number of workers.

    Raises:
        TypeError: A keyword of no version, a wrong value, or both words for one thing.
    """
    unknown = sorted(set(former) - set(_INSTEAD_OF_ARGUMENT))
    if unknown:
        raise TypeError(f"Task() got an unexpected keyword argument {unknown[0]!r}")
    given = {name: value for name, value in former.items() if value is not None}
    if "num_workers" in given and max_workers != 1:
        raise TypeError(
            "arguments 'num_workers' and 'max_workers' are two names of one thing: expected "
            f"max_workers only, got num_workers={given['num_workers']!r} and {max_workers=}"
        )
    for name in given:
        warn_of_former(f"Task({name}=...)", _INSTEAD_OF_ARGUMENT[name])
    if "upstream_tasks" in given:
        former["upstream_tasks"] = _upstream(given["upstream_tasks"])
    if not callable(given.get("init_callback_fn", print)):
        raise TypeError(
            "argument 'init_callback_fn': expected a function of one context, got "
            f"{given['init_callback_fn']!r}"
        )
    number: int = given.get("num_workers", max_workers)  # which Task checks as max_workers
    return number


def _upstream(value: Any) -> list[Task]:
    from daisy._task import Task  # noqa: PLC0415 - the class that calls this

    if isinstance(value, list | tuple | set | frozenset) or hasattr(value, "__next__"):
        tasks = list(value)
        if all(isinstance(task, Task) for task in tasks):
            return tasks
    raise TypeError(
        f"argument 'upstream_tasks': expected a list of daisy.Task, got {value!r}; for one task, "
        "write [task]"
    )


_ATTRIBUTES: dict[str, tuple[str, Callable[[Task], Any]]] = {
    "num_workers": ("task.max_workers", lambda task: task.max_workers),
    "timeout": ("task.timeout_secs", lambda task: task.timeout_secs),
    "upstream_tasks": ("the edges of a daisy.Pipeline", lambda task: list(task._upstream_tasks)),
    "orig_total_roi": ("task.total_roi", lambda task: task.total_roi),
    "spawn_worker_function": ("task.process_function", lambda task: task.process_function),
    "init_callback_fn": ("a call before run_blockwise(...)", lambda task: task.init_callback),
}


def former_attribute(task: Task, name: str) -> Any:
    """The value of an attribute that tasks had in daisy 1.x.

    Raises:
        AttributeError: If they never had it.
    """
    if name not in _ATTRIBUTES:
        raise AttributeError(f"'Task' object has no attribute {name!r}")
    instead, value = _ATTRIBUTES[name]
    warn_of_former(f"task.{name}", instead)
    return value(task)
