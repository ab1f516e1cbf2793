"""Masks of blocks: an array, a zarr array, or a function of regions."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from daisy import _core
from daisy._task_arguments import refuse

if TYPE_CHECKING:
    from daisy._task import Task

RegionMask: TypeAlias = Callable[[Any], bool | None]
"""Says of a ROI whether all blocks that write in it are masked (True), none is (False), or some are (None)."""


def mask_argument(value: object, grid_shape: Sequence[int]) -> Any:
    """The mask as a C-ordered boolean array with one cell per block, or the function that says it.

    A cell that is not zero is skipped. Functions are asked when a run begins.
    """
    if value is None or callable(value):
        return value
    import numpy  # noqa: PLC0415 - only those who use masks need NumPy

    mask = _open(value) if isinstance(value, str | os.PathLike) else numpy.asarray(value)
    if mask.dtype.kind not in "biufc":
        refuse(TypeError, "skip_mask", mask.dtype, "an array of booleans or numbers")
    if list(mask.shape) != list(grid_shape):
        raise ValueError(
            f"argument 'skip_mask': expected one cell per block, shape {tuple(grid_shape)}, "
            f"got shape {tuple(mask.shape)}"
        )
    # Compared and not cast, so that 0.5 is not taken for zero.
    return numpy.ascontiguousarray(mask != 0)


def _open(path: str | os.PathLike[str]) -> Any:
    try:
        import zarr  # noqa: PLC0415 - only for masks that are zarr arrays
    except ImportError as error:
        raise ImportError(
            f"argument 'skip_mask': {os.fspath(path)!r} is read with zarr, which is not installed: "
            "pip install zarr, or pass an array"
        ) from error
    if not Path(path).exists():
        refuse(ValueError, "skip_mask", os.fspath(path), "the path of a zarr array")
    try:
        return zarr.open_array(os.fspath(path), mode="r")[...]
    except (FileNotFoundError, TypeError, ValueError, KeyError) as error:
        raise ValueError(
            f"argument 'skip_mask': expected the path of a zarr array, got {os.fspath(path)!r}: {error}"
        ) from error


def mask_bytes(task: Task) -> bytes | None:
    """A byte per block, row-major, not zero where it is masked; None if no block is."""
    mask = task._skip_mask
    if mask is None:
        return None
    if callable(mask):
        return _core.mask_of_boxes(task.block_grid_shape, _ask(mask, task))
    cells: bytes = mask.tobytes()
    return cells


def _ask(says: RegionMask, task: Task) -> list[tuple[list[int], list[int]]]:
    """The boxes of masked blocks: asks of the whole, then of halves of what is mixed."""
    from funlib.geometry.roi import Roi  # noqa: PLC0415 - slow to import

    origin = task.total_write_roi.begin
    step = task.write_roi.shape
    shape = task.block_grid_shape
    masked: list[tuple[list[int], list[int]]] = []
    boxes = [([0] * len(shape), list(shape))] if 0 not in shape else []
    while boxes:
        begin, end = boxes.pop()
        sides = [last - first for first, last in zip(begin, end, strict=True)]
        roi = Roi(
            [start + first * size for start, first, size in zip(origin, begin, step, strict=True)],
            [side * size for side, size in zip(sides, step, strict=True)],
        )
        answer = says(roi)
        if answer is None:
            longest = sides.index(max(sides))
            if sides[longest] == 1:
                raise ValueError(
                    f"task {task.task_id!r}: skip_mask said None of the single block that writes {roi}; "
                    "expected True (masked) or False"
                )
            middle = begin[longest] + sides[longest] // 2
            boxes.append((begin, [*end[:longest], middle, *end[longest + 1 :]]))
            boxes.append(([*begin[:longest], middle, *begin[longest + 1 :]], end))
        elif answer:
            masked.append((begin, end))
    return masked
