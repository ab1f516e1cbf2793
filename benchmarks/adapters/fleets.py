"""Few workers against many, in turns: what is lost by having far more of them than cores."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

import numpy

from adapters.measure import Figures, Request, spent


def smooth() -> None:
    """Smooth a volume as people do: about 10 ms of arithmetic, on arrays small enough for a cache.

    What it needs is imported where it is used: each worker has to have it.
    """
    from scipy.ndimage import gaussian_filter  # noqa: PLC0415 - most environments have no scipy

    gaussian_filter(numpy.ones((48, 48, 48), numpy.float32), 14)


def compare(request: Request, run: Callable[[int], None]) -> Figures:
    """Let ``run`` do the blocks with each number of workers in ``fleets``, round by round.

    CPU time of driver and workers is told besides: where other programs share the machine, many workers get more of
    it than few, and only CPU time says what the number of workers costs.
    """
    rates: dict[int, list[float]] = {workers: [] for workers in request["fleets"]}
    cpu: dict[int, list[float]] = {workers: [] for workers in request["fleets"]}
    for _ in range(request["rounds"]):
        for workers in rates:
            with spent() as cost:
                run(workers)
            rates[workers].append(request["blocks"] / cost.seconds)
            cpu[workers].append((cost.cpu_seconds + cost.worker_cpu_seconds) / request["blocks"])
    figures = {f"blocks_per_second_{workers}": median(values) for workers, values in rates.items()}
    figures |= {f"cpu_ms_per_block_{workers}": 1e3 * median(cpu[workers]) for workers in cpu}
    few, many = request["fleets"]
    lost = [1 - slow / fast for fast, slow in zip(rates[few], rates[many], strict=True)]
    more = [1 - fast / slow for fast, slow in zip(cpu[few], cpu[many], strict=True)]
    return {**figures, "share_lost": median(lost), "share_lost_of_cpu": median(more)}
