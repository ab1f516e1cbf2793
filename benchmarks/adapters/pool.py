"""Adapter for ``multiprocessing.Pool``: what a Python programmer writes without any package."""

from __future__ import annotations

import multiprocessing

from adapters.measure import Figures, Request, require, serve, spent

CHUNK_SIZE = 64


def no_op(block: int) -> int:
    """Do nothing."""
    return block


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
    serve({"workers": workers})
