"""Zarr arrays: created once by the driver, opened once by each worker."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import zarr

from daisy.demo.errors import BadInput
from daisy.demo.job import Job
from daisy.demo.world import Ints, World

Volume = npt.NDArray[Any]

_CHUNK_EDGE = 128


@lru_cache(maxsize=64)
def open_array(path: str, mode: Literal["r", "r+"]) -> zarr.Array[Any]:
    """Open an array that exists; each process opens it once."""
    return zarr.open_array(path, mode=mode)


def load(path: str) -> Volume:
    """Read a whole array into memory."""
    return np.asarray(zarr.open_array(path, mode="r")[...])


def chunk_shape(block_shape: Ints) -> Ints:
    """The chunk shape to store blocks in: a whole number of chunks to a block, on every axis."""
    return tuple(_chunk_edge(edge) for edge in block_shape)


def _chunk_edge(block_edge: int) -> int:
    if block_edge <= _CHUNK_EDGE:
        return block_edge
    divisors = [n for n in range(_CHUNK_EDGE // 2, _CHUNK_EDGE + 1) if block_edge % n == 0]
    return max(divisors, default=block_edge)


def require_own_chunks(name: str, block_shape: Ints, chunks: Ints) -> None:
    """Refuse an array in which two blocks would write the same chunk.

    Two workers that write parts of one chunk at the same time lose each other's voxels.
    """
    if any(block % chunk for block, chunk in zip(block_shape, chunks, strict=True)):
        raise BadInput(
            f"array {name!r} has chunks of {_times(chunks)} voxels, which two blocks of "
            f"{_times(block_shape)} would share; expected chunks that divide the block: "
            f"use --restart, or --block-shape with a multiple of the chunks"
        )


def create(job: Job, name: str, dtype: str) -> None:
    """Create one output array of a job, unless an earlier run did."""
    group = zarr.open_group(str(job.volumes), mode="a")
    if name in group:
        chunks = zarr.open_array(job.array(name), mode="r").chunks
        require_own_chunks(name, job.block_shape, chunks)
        return
    chunks = chunk_shape(job.block_shape)
    require_own_chunks(name, job.block_shape, chunks)
    create_array(group, name, job.world, dtype, chunks)
    describe(group, job.world)


def create_array(
    group: zarr.Group, name: str, world: World, dtype: str, chunks: Ints
) -> zarr.Array[Any]:
    """Create an array that says where it lies in the world."""
    attributes: dict[str, Any] = {
        "offset": list(world.offset),
        "voxel_size": list(world.voxel_size),
        "units": [world.unit] * len(world.shape),
        "axis_names": list(world.axes),
    }
    return group.create_array(
        name,
        shape=world.shape,
        chunks=chunks,
        dtype=dtype,
        dimension_names=list(world.axes),
        attributes=attributes,
        overwrite=True,
    )


def describe(group: zarr.Group, world: World) -> None:
    """Describe the arrays of a group as OME-Zarr images, so that viewers place them right."""
    axes = [{"name": axis, "type": "space", "unit": world.unit} for axis in world.axes]
    transformations = [
        {"type": "scale", "scale": [float(size) for size in world.voxel_size]},
        {"type": "translation", "translation": [float(begin) for begin in world.offset]},
    ]
    images = [
        {
            "name": name,
            "axes": axes,
            "datasets": [{"path": name, "coordinateTransformations": transformations}],
        }
        for name in sorted(group.array_keys())
    ]
    # Through JSON once: what is stored must be plain lists and numbers.
    group.attrs["ome"] = json.loads(json.dumps({"version": "0.5", "multiscales": images}))


def _times(shape: Ints) -> str:
    return "×".join(str(edge) for edge in shape)
