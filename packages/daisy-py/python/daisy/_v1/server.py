"""``daisy.server`` of daisy 1.x."""

from daisy import Server
from daisy._compat.warn import warn_of_former

__all__ = ["Server"]

warn_of_former("the module daisy.server", "daisy.Server")
