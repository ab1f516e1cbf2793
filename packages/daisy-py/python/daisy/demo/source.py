"""An input of the user's own: any zarr array with two or three axes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import zarr

from daisy.demo.errors import BadInput
from daisy.demo.world import Ints, World

_RANKS = (2, 3)
_AXES = ("z", "y", "x")
_VOXEL_SIZE_KEYS = ("voxel_size", "resolution")
_SAMPLE_EDGE = 128


def open_source(path: str) -> zarr.Array[Any]:
    """Open the input array, or say in one line why that cannot be."""
    if not Path(path).exists():
        raise BadInput(f"--input: no such file or folder: {path}")
    try:
        found = zarr.open(path, mode="r")
    # zarr raises what its stores and codecs raise; whatever it is, the user gave a wrong path.
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise BadInput(f"--input: {path} is not a zarr array: {reason}") from error
    if isinstance(found, zarr.Group):
        inside = ", ".join(sorted(found.array_keys())) or "none"
        raise BadInput(
            f"--input: {path} is a zarr group; expected an array. Arrays inside: {inside}"
        )
    _require_volume(path, found)
    return found


def _require_volume(path: str, array: zarr.Array[Any]) -> None:
    if array.ndim not in _RANKS:
        raise BadInput(
            f"--input: {path} has {array.ndim} axes (shape {array.shape}); expected 2 or 3"
        )
    if 0 in array.shape:
        raise BadInput(f"--input: {path} has no voxels (shape {array.shape})")
    if array.dtype.kind not in "buif":
        raise BadInput(
            f"--input: {path} has voxels of type {array.dtype}; expected whole or real numbers"
        )


def place(array: zarr.Array[Any], voxel_size: Sequence[int] | None) -> World:
    """Find where the input lies.

    Args:
        array: The input.
        voxel_size: What the user said; ``None`` takes the array's attributes, else 1.
    """
    attributes = dict(array.attrs)
    stored = next((attributes[key] for key in _VOXEL_SIZE_KEYS if key in attributes), None)
    size = _whole("--voxel-size", voxel_size or stored, array.ndim, 1)
    if min(size) < 1:
        raise BadInput(f"--voxel-size: got {size}; expected numbers of at least 1")
    units = attributes.get("units")
    unit = units[0] if isinstance(units, list) and units else "nanometer"
    return World(
        offset=_whole("attribute 'offset'", attributes.get("offset"), array.ndim, 0),
        voxel_size=size,
        shape=array.shape,
        axes=_AXES[-array.ndim :],
        unit=str(unit),
    )


def _whole(name: str, values: object, rank: int, default: int) -> Ints:
    if values is None:
        return (default,) * rank
    numbers = values if isinstance(values, Sequence) and not isinstance(values, str) else ()
    if len(numbers) != rank or not all(_is_whole(number) for number in numbers):
        raise BadInput(
            f"{name}: got {values}; expected {rank} whole numbers, one for each axis "
            f"(choose a smaller unit where they are not whole: --voxel-size 350,200,200)"
        )
    return tuple(int(number) for number in numbers)


def _is_whole(number: object) -> bool:
    return isinstance(number, (int, float)) and float(number).is_integer()


def otsu(array: zarr.Array[Any]) -> float:
    """Choose a threshold: the one that parts dark from bright voxels best (Otsu 1979).

    Takes the brightness of the middle of the volume, at most 128 voxels along each axis.
    """
    middle = tuple(
        slice((size - min(size, _SAMPLE_EDGE)) // 2, (size + min(size, _SAMPLE_EDGE) + 1) // 2)
        for size in array.shape
    )
    values = np.asarray(array[middle]).astype(np.float64).ravel()
    values = values[np.isfinite(values)]
    if values.size == 0:
        return 0.0
    counts, edges = np.histogram(values, bins=256)
    return _best_split(counts.astype(np.float64), (edges[:-1] + edges[1:]) / 2)


def _best_split(counts: npt.NDArray[np.float64], levels: npt.NDArray[np.float64]) -> float:
    below, above = np.cumsum(counts), np.cumsum(counts[::-1])[::-1]
    mean_below = np.cumsum(counts * levels) / np.maximum(below, 1)
    mean_above = np.cumsum((counts * levels)[::-1])[::-1] / np.maximum(above, 1)
    spread = below[:-1] * above[1:] * (mean_below[:-1] - mean_above[1:]) ** 2
    return float(levels[int(np.argmax(spread))])
