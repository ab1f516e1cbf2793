"""Dependency graphs of daisy 1.x."""

from daisy import (
    BlockwiseDependencyGraph,
    DependencyGraph,
    expand_roi_to_grid,
    expand_write_roi_to_grid,
)

__all__ = [
    "BlockwiseDependencyGraph",
    "DependencyGraph",
    "expand_roi_to_grid",
    "expand_write_roi_to_grid",
]
