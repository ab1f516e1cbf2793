"""Everything a block function must know; small, immutable, and shipped to every worker."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from daisy.demo.world import Ints, World

STAGES = ("denoise", "fragments", "touches", "merge", "relabel")


@dataclass(frozen=True)
class Job:
    """One segmentation of one volume into one output folder.

    Attributes:
        output: The folder that holds every result.
        source: Path of the input array.
        world: Where the volume lies.
        block_shape: Voxels of a block, along each axis.
        sigma: Width of the Gaussian, in voxels.
        threshold: Denoised voxels above it are foreground.
        dtype: Floating-point type the Gaussian computes in.
    """

    output: str
    source: str
    world: World
    block_shape: Ints
    sigma: float
    threshold: float
    dtype: str

    @property
    def radius(self) -> int:
        """Reach of the Gaussian in voxels: where SciPy cuts it off unless told otherwise."""
        return int(4.0 * self.sigma + 0.5)

    @property
    def volumes(self) -> Path:
        """The zarr group with all arrays."""
        return Path(self.output, "volumes.zarr")

    def array(self, name: str) -> str:
        """Path of one of the arrays this job writes."""
        return str(self.volumes / name)

    @property
    def touches(self) -> Path:
        """Folder with one file per block: its fragments, and those they touch."""
        return Path(self.output, "touches")

    @property
    def merged(self) -> Path:
        """The table from fragment to component."""
        return Path(self.output, "merged.npz")

    @property
    def records(self) -> Path:
        """Folder with the demo's own record of what was done."""
        return Path(self.output, "records")

    @property
    def report(self) -> Path:
        """The page of the last run, made where the ``report`` extra is installed."""
        return Path(self.output, "report.html")

    def tracking(self, stage: str) -> Path:
        """Tracking store of one stage."""
        return Path(self.output, "tracking", stage)

    def block_count(self, stage: str) -> int:
        """Blocks of one stage, counted without asking daisy."""
        if stage == "merge":
            return 1
        pairs = zip(self.world.shape, self.block_shape, strict=True)
        return math.prod(-(-size // block) for size, block in pairs)

    def settings(self) -> dict[str, Any]:
        """What decides the result, as plain JSON; the place of the output does not."""
        settings = asdict(self)
        del settings["output"]
        settings.update(settings.pop("world"))
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in settings.items()
        }
