"""Trial of ``map_overlap`` of dask, on a local cluster, from and to a Zarr array."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

import dask.array
import numpy
from distributed import Client, LocalCluster

from adapters.trial import BLOCKS, begin, visit

RETRIES = 2
"""As daisy and cubed have it; dask's own default is none."""


def work(chunk: Any, folder: Path, step: str) -> Any:
    """The array holds the index of each block, thrice; one voxel more is read on either side."""
    visit(folder, step, int(chunk[2]))
    return chunk


def main() -> int:
    """0 if dask says that all is done."""
    folder = begin()
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(processes=True, **options) as cluster, Client(cluster):
        array = dask.array.from_array(numpy.repeat(numpy.arange(BLOCKS), 3), chunks=3)
        steps = ["first", "second"]
        for step in steps if (folder / "trial").read_text() == "two steps" else steps[:1]:
            function = partial(work, folder=folder, step=step)
            array = array.map_overlap(function, depth=1, boundary=0, meta=array._meta)
        array.to_zarr(str(folder / "result.zarr"), overwrite=True, compute=False).compute(
            retries=RETRIES
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
