"""Task states of daisy 1.x."""

from daisy import TaskState

__all__ = ["TaskState"]
