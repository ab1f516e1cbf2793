"""``run_blockwise`` of daisy 1.x."""

from daisy import run_blockwise

__all__ = ["run_blockwise"]
