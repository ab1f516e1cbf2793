"""Adapter for dask.distributed: ``client.map`` on a local cluster."""

from __future__ import annotations

from distributed import Client, LocalCluster

from adapters.measure import Figures, Request, require, serve, spent


def no_op(block: int) -> int:
    """Do nothing."""
    return block


def workers(request: Request) -> Figures:
    """No-op items through a local cluster of processes, the start of the cluster not counted."""
    count = request["blocks"]
    options = {"n_workers": request["workers"], "threads_per_worker": 1, "dashboard_address": None}
    cluster = LocalCluster(processes=True, **options)
    with cluster, Client(cluster) as client, spent() as cost:
        futures = client.map(no_op, range(count), pure=False)
        done = len(client.gather(futures))
    require(done, count)
    return {
        "seconds": cost.seconds,
        "blocks_per_second": count / cost.seconds,
        "driver_cpu_us_per_block": cost.cpu_seconds / count * 1e6,
    }


if __name__ == "__main__":
    serve({"workers": workers})
