"""The client of daisy 1.x."""

from daisy import Client

__all__ = ["Client"]
