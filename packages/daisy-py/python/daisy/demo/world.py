"""Where the volume lies: voxels and world units, and the way between them."""

from __future__ import annotations

from dataclasses import dataclass

from daisy import Coordinate, Roi

Ints = tuple[int, ...]


@dataclass(frozen=True)
class World:
    """A volume in world units, sampled at whole multiples of its voxel size.

    Attributes:
        offset: Where the first voxel begins, in world units.
        voxel_size: Edge of a voxel, in world units.
        shape: Number of voxels along each axis.
        axes: One letter for each axis.
        unit: Name of the world unit, as OME-Zarr spells it.
    """

    offset: Ints
    voxel_size: Ints
    shape: Ints
    axes: tuple[str, ...]
    unit: str

    @property
    def roi(self) -> Roi:
        """The whole volume, in world units."""
        return Roi(self.offset, self.scale(self.shape))

    def scale(self, voxels: Ints) -> Coordinate:
        """Turn counts of voxels into a distance in world units."""
        return Coordinate(voxels) * Coordinate(self.voxel_size)

    def voxels(self, roi: Roi) -> Roi:
        """Turn a ROI in world units into array indices, cut at the edge of the volume."""
        inside = roi.intersect(self.roi)
        return (inside - Coordinate(self.offset)) / Coordinate(self.voxel_size)
