"""Tasks of daisy 1.x."""

from daisy import Task

__all__ = ["Task"]
