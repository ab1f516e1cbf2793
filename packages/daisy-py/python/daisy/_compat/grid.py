"""Growing a ROI to whole blocks, as daisy 1.x did it."""

from __future__ import annotations

from typing import Any

from daisy._compat.warn import warn_of_former


def expand_roi_to_grid(sub_roi: Any, total_roi: Any, read_roi: Any, write_roi: Any) -> Any:
    """Grow a ROI to whole write ROIs of the blocks of a task.

    Args:
        sub_roi: What to grow, in world units.
        total_roi: The volume of the task, context included.
        read_roi: What one block reads.
        write_roi: What one block writes.

    Returns:
        The smallest ROI of whole write ROIs around ``sub_roi``; not cut at the volume.

    >>> import warnings
    >>> from daisy import Roi
    >>> with warnings.catch_warnings(action="ignore"):
    ...     expand_roi_to_grid(Roi((8,), (5,)), Roi((0,), (100,)), Roi((0,), (12,)), Roi((1,), (10,)))
    [1:21] (20)
    """
    warn_of_former(
        "expand_roi_to_grid(...)",
        "(roi - begin).snap_to_grid(write_roi.shape, mode='grow') + begin, "
        "with begin = task.total_write_roi.begin",
    )
    begin = total_roi.begin + (write_roi.begin - read_roi.begin)
    return (sub_roi - begin).snap_to_grid(write_roi.shape, mode="grow") + begin


def expand_write_roi_to_grid(roi: Any, write_roi: Any) -> Any:
    """Grow a ROI to whole write ROIs of a grid that begins at the origin.

    Args:
        roi: What to grow, in world units.
        write_roi: What one block writes; only its shape matters.

    Returns:
        The smallest ROI of whole write ROIs around ``roi``.

    >>> import warnings
    >>> from daisy import Roi
    >>> with warnings.catch_warnings(action="ignore"):
    ...     expand_write_roi_to_grid(Roi((8,), (5,)), Roi((1,), (10,)))
    [0:20] (20)
    """
    warn_of_former(
        "expand_write_roi_to_grid(...)", "roi.snap_to_grid(write_roi.shape, mode='grow')"
    )
    return roi.snap_to_grid(write_roi.shape, mode="grow")
