"""``daisy.scheduler`` of daisy 1.x."""

from daisy import Scheduler
from daisy._compat.warn import warn_of_former

__all__ = ["Scheduler"]

warn_of_former("the module daisy.scheduler", "daisy.Scheduler")
