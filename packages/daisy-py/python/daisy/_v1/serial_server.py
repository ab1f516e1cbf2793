"""The serial server of daisy 1.x."""

from daisy import SerialServer

__all__ = ["SerialServer"]
