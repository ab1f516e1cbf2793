"""``daisy.context`` of daisy 1.x."""

from daisy import Context
from daisy._compat.warn import warn_of_former

__all__ = ["Context"]

warn_of_former("the module daisy.context", "daisy.Context")
