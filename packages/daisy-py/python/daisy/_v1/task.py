"""``daisy.task`` of daisy 1.x."""

from daisy import Task
from daisy._compat.warn import warn_of_former

__all__ = ["Task"]

warn_of_former("the module daisy.task", "daisy.Task")
