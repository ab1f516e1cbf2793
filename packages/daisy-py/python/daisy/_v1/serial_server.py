"""``daisy.serial_server`` of daisy 1.x."""

from daisy._compat.server import SerialServer
from daisy._compat.warn import warn_of_former

__all__ = ["SerialServer"]

warn_of_former("the module daisy.serial_server", "daisy.run_blockwise(..., multiprocessing=False)")
