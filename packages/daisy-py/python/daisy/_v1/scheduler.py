"""The scheduler of daisy 1.x."""

from daisy import Scheduler

__all__ = ["Scheduler"]
