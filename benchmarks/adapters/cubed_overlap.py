"""Adapter for cubed: ``map_overlap`` on its executor of local processes."""

from __future__ import annotations

import tempfile
from math import isqrt
from typing import Any

import cubed
import cubed.array_api

from adapters.measure import Figures, Request, require, serve, spent

CHUNK = 4


def inner(chunk: Any) -> Any:
    """Leave out what was read of the neighbours: cubed does not do it."""
    return chunk[1:-1, 1:-1]


def workers(request: Request) -> Figures:
    """Chunks of four by four voxels that see one more on every side, from store to store."""
    edge = isqrt(request["blocks"])
    shape = (edge * CHUNK, edge * CHUNK)
    with tempfile.TemporaryDirectory(prefix="cubed-") as folder:
        spec = cubed.Spec(
            work_dir=folder,
            allowed_mem="200MB",
            executor_name="processes",
            executor_options={"max_workers": request["workers"]},
        )
        array = cubed.array_api.zeros(shape, chunks=(CHUNK, CHUNK), spec=spec)
        with spent() as cost:
            result = cubed.map_overlap(
                inner, array, dtype=array.dtype, chunks=array.chunks, depth=1, boundary=0
            ).compute()
    require(result.size, edge * edge * CHUNK * CHUNK)
    return {"seconds": cost.seconds, "blocks_per_second": edge * edge / cost.seconds}


if __name__ == "__main__":
    serve({"workers": workers})
