"""``daisy.coordinate`` of daisy 1.x."""

from daisy import Coordinate
from daisy._compat.warn import warn_of_former

__all__ = ["Coordinate"]

warn_of_former("the module daisy.coordinate", "daisy.Coordinate")
