"""Adapter for dask arrays: ``map_overlap`` on a local cluster."""

from __future__ import annotations

from math import isqrt
from typing import Any

import dask.array
from distributed import Client, LocalCluster, futures_of, wait

from adapters.measure import Figures, Request, require, serve, spent

CHUNK = 4


def no_op(chunk: Any) -> Any:
    """Do nothing."""
    return chunk


def workers(request: Request) -> Figures:
    """Chunks of four by four voxels that see one more on every side; the cluster's start not counted."""
    edge = isqrt(request["blocks"])
    options = {"n_workers": request["workers"], "threads_per_worker": 1, "dashboard_address": None}
    cluster = LocalCluster(processes=True, **options)
    with cluster, Client(cluster), spent() as cost:
        array = dask.array.zeros((edge * CHUNK, edge * CHUNK), chunks=CHUNK)
        result = array.map_overlap(no_op, depth=1, boundary=0).persist()
        wait(result)
        done = len(futures_of(result))
    require(done, edge * edge)
    return {"seconds": cost.seconds, "blocks_per_second": done / cost.seconds}


if __name__ == "__main__":
    serve({"workers": workers})
