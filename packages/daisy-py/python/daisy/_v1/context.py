"""The context of daisy 1.x."""

from daisy import Context

__all__ = ["Context"]
