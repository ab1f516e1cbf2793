"""``daisy.task_state`` of daisy 1.x."""

from daisy import TaskState
from daisy._compat.warn import warn_of_former

__all__ = ["TaskState"]

warn_of_former("the module daisy.task_state", "daisy.TaskState")
