# mypy: ignore-errors
# What users write, over libraries without annotations, in environments where mypy is not.
"""Smooth an array with funlib.persistence: `persistence_program.py FOLDER serial|multiprocessing`."""

import sys
from functools import partial
from pathlib import Path

import daisy
import numpy
from funlib.persistence import open_ds, prepare_ds

SHAPE = (40, 30, 30)
OFFSET = (400, -90, 30)
VOXEL = (40, 10, 10)


def inputs(folder: Path) -> None:
    """Write the same array on every run, and an empty one for the result."""
    random = numpy.random.default_rng(11)
    common = {"offset": OFFSET, "voxel_size": VOXEL, "chunk_shape": (8, 10, 10)}
    raw = prepare_ds(folder / "raw.zarr", SHAPE, dtype=numpy.uint8, **common)
    raw[:] = random.integers(0, 255, SHAPE, dtype=numpy.uint8)
    prepare_ds(folder / "smooth.zarr", SHAPE, dtype=numpy.float32, **common)


def smooth(folder: Path, block: daisy.Block) -> None:
    """Take the mean over three voxels an axis."""
    raw = open_ds(folder / "raw.zarr")
    result = open_ds(folder / "smooth.zarr", mode="r+")
    values = raw[block.read_roi.intersect(raw.roi)].astype(numpy.float64)
    before = (block.write_roi.begin - block.read_roi.intersect(raw.roi).begin) / raw.voxel_size
    after = (block.read_roi.intersect(raw.roi).end - block.write_roi.end) / raw.voxel_size
    for axis in range(3):
        padding = [(0, 0)] * 3
        padding[axis] = (1, 1)
        wide = numpy.pad(values, padding, mode="edge")
        length = values.shape[axis]
        values = sum(wide.take(range(i, i + length), axis) for i in range(3)) / 3
    inner = tuple(
        slice(low, length - high)
        for low, high, length in zip(before, after, values.shape, strict=True)
    )
    result[block.write_roi] = values[inner].astype(numpy.float32)


def main(folder: Path, *, multiprocessing: bool) -> None:
    """Run it block by block, context of one voxel."""
    inputs(folder)
    context = daisy.Coordinate(VOXEL)
    raw = open_ds(folder / "raw.zarr")
    write = daisy.Roi((0, 0, 0), daisy.Coordinate(8, 10, 10) * context)
    task = daisy.Task(
        "smooth",
        raw.roi.grow(context, context),
        write.grow(context, context),
        write,
        partial(smooth, folder),
        read_write_conflict=False,
        fit="shrink",
        max_workers=3,
    )
    assert daisy.run_blockwise([task], multiprocessing=multiprocessing, progress=False)


if __name__ == "__main__":
    main(Path(sys.argv[1]), multiprocessing=sys.argv[2] == "multiprocessing")
