"""``daisy.client`` of daisy 1.x."""

from daisy import Client
from daisy._compat.warn import warn_of_former

__all__ = ["Client"]

warn_of_former("the module daisy.client", "daisy.Client")
