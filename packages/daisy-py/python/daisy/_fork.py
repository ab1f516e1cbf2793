"""What a process that workers are forked from must know of itself; light, because every worker imports it."""

from __future__ import annotations

makes_workers = False
"""Whether forks of this process become workers: they speak for themselves."""

asked_who_it_is = False
"""Whether code that was imported here asked which worker it is in, which only a worker can answer."""
