"""What every adapter shares: one request in, one JSON line out, and how to look at a clock.

Standard library only: adapters run in environments that hold one package and nothing else.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

Request = Mapping[str, Any]
Figures = dict[str, float]
Case = Callable[[Request], Figures]

_RSS_BYTES = 1 if sys.platform == "darwin" else 1024
_MEBIBYTE = 2**20


@dataclass
class Spent:
    """What a stretch of code cost; filled in at its end.

    Attributes:
        seconds: Wall time.
        cpu_seconds: CPU time of this process, user and system, without its children.
        worker_cpu_seconds: CPU time of its children that have ended.
        rss_mib: Growth of the largest resident size this process ever had.
    """

    seconds: float = 0.0
    cpu_seconds: float = 0.0
    worker_cpu_seconds: float = 0.0
    rss_mib: float = 0.0


@contextmanager
def spent() -> Iterator[Spent]:
    """Measure the body of the ``with`` statement."""
    result = Spent()
    rss, children = peak_rss_mib(), children_cpu_seconds()
    cpu, clock = time.process_time(), time.perf_counter()
    yield result
    result.seconds = time.perf_counter() - clock
    result.cpu_seconds = time.process_time() - cpu
    result.worker_cpu_seconds = children_cpu_seconds() - children
    result.rss_mib = peak_rss_mib() - rss


def peak_rss_mib() -> float:
    """The largest resident size this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _RSS_BYTES / _MEBIBYTE


def children_cpu_seconds() -> float:
    """CPU time, user and system, of the children that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def require(count: int, expected: int) -> None:
    """A figure of a run that lost blocks is worth nothing."""
    if count != expected:
        raise RuntimeError(f"{count} blocks done; expected {expected}")


def serve(cases: Mapping[str, Case]) -> None:
    """Answer the one request on stdin: a JSON line with the case and its parameters."""
    request = json.loads(sys.stdin.readline())
    # What a package prints must not be taken for the answer.
    answer, sys.stdout = sys.stdout, sys.stderr
    figures = cases[request["case"]](request)
    print(json.dumps(figures), file=answer, flush=True)
