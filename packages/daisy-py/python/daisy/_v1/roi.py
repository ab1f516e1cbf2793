"""``daisy.roi`` of daisy 1.x."""

from daisy import Roi
from daisy._compat.warn import warn_of_former

__all__ = ["Roi"]

warn_of_former("the module daisy.roi", "daisy.Roi")
