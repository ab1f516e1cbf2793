"""``daisy.freezable`` of daisy 1.x."""

from daisy._compat.warn import warn_of_former
from funlib.geometry.freezable import Freezable

__all__ = ["Freezable"]

warn_of_former("the module daisy.freezable", "funlib.geometry.freezable")
