"""Adapter for ``multiprocessing.Pool``: what a Python programmer writes without any package."""

from __future__ import annotations

import multiprocessing

from adapters.fleets import compare, smooth
from adapters.measure import Figures, Request, require, serve, spent

CHUNK_SIZE = 64


def no_op(block: int) -> int:
    """Do nothing."""
    return block


def gaussian(_block: int) -> None:
    """Smooth a volume."""
    smooth()


def fleets(request: Request) -> Figures:
    """The same work with few workers and with many, one item at a time."""

    def do(workers: int) -> None:
        with multiprocessing.get_context("fork").Pool(workers) as pool:
            pool.map(gaussian, range(request["blocks"]), chunksize=1)
            pool.close()
            pool.join()

    return compare(request, do)


def workers(request: Request) -> Figures:
    """No-op items through a pool, its start included."""
    count = request["blocks"]
    spawn = multiprocessing.get_context("spawn")
    with spent() as cost, spawn.Pool(request["workers"]) as pool:
        done = sum(1 for _ in pool.imap_unordered(no_op, range(count), chunksize=CHUNK_SIZE))
    require(done, count)
    return {
        "seconds": cost.seconds,
        "blocks_per_second": count / cost.seconds,
        "driver_cpu_us_per_block": cost.cpu_seconds / count * 1e6,
    }


if __name__ == "__main__":
    serve({"workers": workers, "fleets": fleets})
