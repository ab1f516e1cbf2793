"""More memory for the workers that follow one that died of too little."""

from __future__ import annotations

import re

from daisy.logging import logger

# What engines write about a job that they killed, where its state does not say why.
_HUNGER = re.compile(r"(?i)exceeded (job |step )?memory limit|oom[ _-]?kill|job killed: \w*mem ")


def tells_of_hunger(log: str) -> bool:
    """Whether an engine's log says that it killed the job for lack of memory.

    >>> tells_of_hunger("slurmstepd: error: Exceeded job memory limit")
    True
    """
    return _HUNGER.search(log) is not None


class Memories:
    """How much memory the workers of each task ask for.

    Args:
        growth: Factor after such a death; 1 for none.
        limit_mb: Most that this may lead to, 0 for any.
    """

    def __init__(self, growth: float, limit_mb: int) -> None:
        self._growth = growth
        self._limit_mb = limit_mb
        self._least: dict[str, int] = {}

    def of(self, task_id: str, wished_mb: int) -> int:
        """What the next workers of a task ask for; at least what was wished."""
        return max(wished_mb, self._least.get(task_id, 0))

    def grow(self, task_id: str, had_mb: int) -> None:
        """A worker of the task died of too little memory; of several that had the same, one counts."""
        grown = int(had_mb * self._growth)
        if self._limit_mb:
            grown = min(grown, self._limit_mb)
        if grown <= max(had_mb, self._least.get(task_id, 0)):
            return
        self._least[task_id] = grown
        logger.warning(
            "a worker of task %r died of too little memory; the next ask for %d MiB each",
            task_id,
            grown,
        )
