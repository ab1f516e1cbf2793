"""``daisy.convenience`` of daisy 1.x."""

from daisy import run_blockwise
from daisy._compat.warn import warn_of_former

__all__ = ["run_blockwise"]

warn_of_former("the module daisy.convenience", "daisy.run_blockwise")
