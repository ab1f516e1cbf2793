"""``daisy.blocks`` of daisy 1.x."""

from daisy._compat.grid import expand_roi_to_grid, expand_write_roi_to_grid
from daisy._compat.warn import warn_of_former

__all__ = ["expand_roi_to_grid", "expand_write_roi_to_grid"]

warn_of_former("the module daisy.blocks", "Roi.snap_to_grid")
