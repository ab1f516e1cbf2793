# mypy: ignore-errors
# What users write, over libraries without annotations, in environments where mypy is not.
"""Sharpen an array with gunpowder: `gunpowder_program.py FOLDER`."""

import sys
from functools import partial
from pathlib import Path

import daisy
import gunpowder as gp
import numpy
import zarr

SHAPE = (60, 48)
VOXEL = gp.Coordinate(2, 3)


def inputs(folder: Path) -> None:
    """Write the same array on every run, and an empty one for the result."""
    store = zarr.open(str(folder / "data.zarr"), mode="w")
    random = numpy.random.default_rng(5)
    raw = store.create_dataset(
        "raw", data=random.random(SHAPE, dtype=numpy.float32), chunks=(10, 8)
    )
    out = store.create_dataset("out", shape=SHAPE, chunks=(10, 8), dtype=numpy.float32)
    for array in (raw, out):
        array.attrs.update(resolution=tuple(VOXEL), offset=(0, 0))


class Sharpen(gp.BatchFilter):
    """Subtract the mean of the neighbours along both axes."""

    def __init__(self, raw: gp.ArrayKey, out: gp.ArrayKey) -> None:
        self.raw, self.out = raw, out

    def setup(self) -> None:
        self.provides(self.out, self.spec[self.raw].copy())

    def prepare(self, request: gp.BatchRequest) -> gp.BatchRequest:
        needed = gp.BatchRequest()
        needed[self.raw] = gp.ArraySpec(request[self.out].roi.grow(VOXEL, VOXEL))
        return needed

    def process(self, batch: gp.Batch, request: gp.BatchRequest) -> None:
        array = batch[self.raw]
        values = array.data.astype(numpy.float64)
        wide = numpy.pad(values, 1, mode="edge")
        mean = (wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:]) / 4
        batch[self.out] = gp.Array((values - mean).astype(numpy.float32), array.spec.copy())
        batch[self.out] = batch[self.out].crop(request[self.out].roi)


def scan(folder: Path) -> None:
    """Ask for blocks until there are no more: what a worker of gunpowder does."""
    raw, out = gp.ArrayKey("RAW"), gp.ArrayKey("OUT")
    reference = gp.BatchRequest()
    reference[raw] = gp.ArraySpec(gp.Roi((0, 0), gp.Coordinate(12, 10) * VOXEL))
    reference[out] = gp.ArraySpec(gp.Roi((0, 0), gp.Coordinate(10, 8) * VOXEL))
    pipeline = (
        gp.ZarrSource(
            str(folder / "data.zarr"), {raw: "raw"}, {raw: gp.ArraySpec(interpolatable=True)}
        )
        + gp.Pad(raw, None)
        + Sharpen(raw, out)
        + gp.ZarrWrite({out: "out"}, str(folder), "data.zarr")
        + gp.DaisyRequestBlocks(reference, {raw: "read_roi", out: "write_roi"}, num_workers=1)
    )
    with gp.build(pipeline):
        pipeline.request_batch(gp.BatchRequest())


def main(folder: Path) -> None:
    """Run two such workers."""
    inputs(folder)
    total = gp.Roi((0, 0), gp.Coordinate(SHAPE) * VOXEL)
    write = gp.Roi((0, 0), gp.Coordinate(10, 8) * VOXEL)
    task = daisy.Task(
        "sharpen",
        total.grow(VOXEL, VOXEL),
        write.grow(VOXEL, VOXEL),
        write,
        partial(scan, folder),
        read_write_conflict=False,
        max_workers=2,
    )
    assert daisy.run_blockwise(task, progress=False)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
