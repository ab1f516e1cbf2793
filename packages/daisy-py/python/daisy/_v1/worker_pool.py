"""``daisy.worker_pool`` of daisy 1.x."""

from daisy._compat.warn import warn_of_former
from daisy._compat.workers import WorkerPool

__all__ = ["WorkerPool"]

warn_of_former("the module daisy.worker_pool", "Task(max_workers=...)")
