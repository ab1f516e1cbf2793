"""One picture: input, denoised, fragments of each block, components of the whole volume."""

from __future__ import annotations

import colorsys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
import zarr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from daisy.demo.job import Job

Image = npt.NDArray[Any]

_BACKGROUND = "#0d1117"
_INK = "#e6edf3"
_FAINT = "#8b949e"
_GRID = "#f2cc60"
_GOLDEN_RATIO = 0.618033988749895
_WIDTH = 13.0
_DPI = 110


@dataclass(frozen=True)
class Cut:
    """A plane through the volume, across one axis (or the whole of a 2-D image).

    Attributes:
        name: What to call it.
        axis: The axis it is across; ``None`` for an image.
        index: Where on that axis.
    """

    name: str
    axis: int | None
    index: int

    def of(self, path: str) -> Image:
        """Read this plane of an array."""
        array = zarr.open_array(path, mode="r")
        where = tuple(
            self.index if axis == self.axis else slice(None) for axis in range(array.ndim)
        )
        return np.asarray(array[where])

    def seen(self, values: tuple[int, ...]) -> tuple[int, int]:
        """Keep what belongs to the two axes seen: rows, columns."""
        rows, columns = (value for axis, value in enumerate(values) if axis != self.axis)
        return rows, columns


def draw(job: Job, path: Path) -> None:
    """Draw slices of every stage and save them as PNG."""
    mpl.use("Agg")
    cuts = _cuts(job)
    heights = [_height(job, cut) for cut in cuts]
    figure = Figure(
        figsize=(_WIDTH, _WIDTH / 4 * sum(heights) + 0.75), facecolor=_BACKGROUND, dpi=_DPI
    )
    axes = figure.subplots(len(cuts), 4, squeeze=False, height_ratios=heights)
    for row, cut in zip(axes, cuts, strict=True):
        _draw_row(job, cut, row)
    for panel, (title, subtitle) in zip(axes[0], _titles(job), strict=True):
        panel.set_title(f"{title}\n", color=_INK, fontsize=13, fontweight="bold", pad=4)
        panel.text(
            0.5, 1.02, subtitle, color=_FAINT, fontsize=9, ha="center", transform=panel.transAxes
        )
    top = 1 - 0.62 / figure.get_figheight()
    figure.subplots_adjust(left=0.03, right=0.995, top=top, bottom=0.01, wspace=0.02, hspace=0.03)
    figure.savefig(path, facecolor=_BACKGROUND, pil_kwargs={"optimize": True})


def _cuts(job: Job) -> list[Cut]:
    shape = job.world.shape
    if len(shape) == 2:
        return [Cut("image", None, 0)]
    # A little off the middle, where the halves of a brain do not meet.
    return [
        Cut(f"{job.world.axes[0]} = {shape[0] // 2}", 0, shape[0] // 2),
        Cut(f"{job.world.axes[1]} = {shape[1] * 2 // 5}", 1, shape[1] * 2 // 5),
    ]


def _height(job: Job, cut: Cut) -> float:
    """Height over width of a plane, in world units."""
    rows, columns = cut.seen(tuple(job.world.scale(job.world.shape)))
    return min(max(rows / columns, 0.2), 3.0)


def _titles(job: Job) -> list[tuple[str, str]]:
    table = "×".join(str(edge) for edge in job.block_shape)
    return [
        ("input", f"{'×'.join(str(edge) for edge in job.world.shape)} voxels"),
        ("denoised", f"Gaussian, halo of {job.radius} voxels"),
        ("fragments", f"labelled in blocks of {table}"),
        ("components", "joined across block faces"),
    ]


def _draw_row(job: Job, cut: Cut, row: npt.NDArray[Any]) -> None:
    noisy, smooth = cut.of(job.source), cut.of(job.array("denoised"))
    fragments, labels = cut.of(job.array("fragments")), cut.of(job.array("labels"))
    grey = _grey(smooth)
    images = (_grey(noisy), grey, _paint(grey, fragments), _paint(grey, labels))
    size = cut.seen(job.world.voxel_size)
    for panel, image in zip(row, images, strict=True):
        panel.imshow(image, origin="lower", aspect=size[0] / size[1], interpolation="nearest")
        panel.set_facecolor("black")
        panel.set_xticks([])
        panel.set_yticks([])
        panel.spines[:].set_visible(False)
    row[0].set_ylabel(cut.name, color=_FAINT, fontsize=9)
    _draw_blocks(job, cut, row[2])


def _draw_blocks(job: Job, cut: Cut, panel: Axes) -> None:
    rows, columns = cut.seen(job.world.shape)
    row_step, column_step = cut.seen(job.block_shape)
    for begin in range(row_step, rows, row_step):
        panel.axhline(begin - 0.5, color=_GRID, linewidth=0.6, alpha=0.55)
    for begin in range(column_step, columns, column_step):
        panel.axvline(begin - 0.5, color=_GRID, linewidth=0.6, alpha=0.55)


def _grey(plane: Image) -> Image:
    values = np.nan_to_num(plane.astype(np.float64))
    low, high = np.percentile(values, (0.5, 99.8))
    level = np.clip((values - low) / max(high - low, 1e-12), 0, 1)
    return np.repeat(level[..., None], 3, axis=-1)


def _paint(grey: Image, labels: Image) -> Image:
    """Lay a colour of its own on each label, over a darkened picture."""
    names, index = np.unique(labels, return_inverse=True)
    colours = np.array([_colour(int(name)) for name in names])
    laid = colours[index.reshape(labels.shape)] * (0.45 + 0.55 * grey)
    return np.where((labels > 0)[..., None], laid, 0.45 * grey)


def _colour(label: int) -> tuple[float, float, float]:
    """Colours that neighbouring numbers do not share: hues a golden ratio apart."""
    hue = (0.502 + label * _GOLDEN_RATIO) % 1.0
    return colorsys.hsv_to_rgb(hue, 0.55 + 0.3 * ((label * 7) % 3) / 2, 1.0)
