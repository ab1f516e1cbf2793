"""The worker pool of daisy 1.x."""

from daisy import WorkerPool

__all__ = ["WorkerPool"]
