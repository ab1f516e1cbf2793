"""The block functions of the five stages, and nothing else.

Each takes the job and the block, reads what the block may read, writes what it must write, and can
run twice without harm. They know nothing of workers, retries or order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from daisy import Block, Roi
from daisy.demo import components
from daisy.demo.arrays import open_array
from daisy.demo.job import Job
from daisy.demo.records import note

Labels = npt.NDArray[np.uint64]


def denoise(job: Job, run: str, block: Block) -> None:
    """Smooth a block.

    The halo is as wide as the Gaussian reaches, so that each voxel sees the neighbours it would
    see in the whole volume. At the edge of the volume the block ends where the volume ends, so
    that the mirror SciPy puts there is the same one too.
    """
    read, write = job.world.voxels(block.read_roi), job.world.voxels(block.write_roi)
    noisy = _read(job.source, read).astype(job.dtype)
    smooth = ndimage.gaussian_filter(noisy, job.sigma)
    _write(job.array("denoised"), write, smooth[(write - read.begin).to_slices()])
    note(job, run, "denoise", write.begin)


def fragments(job: Job, run: str, block: Block) -> None:
    """Label the connected components of a block, with numbers no other block uses."""
    write = job.world.voxels(block.write_roi)
    foreground = _read(job.array("denoised"), write) > job.threshold
    local, _ = ndimage.label(foreground)
    first = np.uint64(block.block_id[1] * int(np.prod(job.block_shape)))
    unique = np.where(local > 0, local.astype(np.uint64) + first, np.uint64(0))
    _write(job.array("fragments"), write, unique)
    note(job, run, "fragments", write.begin)


def touches(job: Job, run: str, block: Block) -> None:
    """Find the fragments of a block, and the pairs that touch across its upper faces.

    The block reads one voxel beyond its upper end on each axis and none below its begin: each
    face between two blocks is looked at once.
    """
    read, write = job.world.voxels(block.read_roi), job.world.voxels(block.write_roi)
    labels = _read(job.array("fragments"), Roi(write.begin, read.end - write.begin))
    own = labels[tuple(slice(0, edge) for edge in write.shape)]
    ids, sizes = np.unique(own[own > 0], return_counts=True)
    pairs = np.concatenate([_pairs(*faces) for faces in _upper_faces(labels, write.shape)])
    components.save(job.touches / f"{block.block_id[1]}.npz", ids=ids, sizes=sizes, pairs=pairs)
    note(job, run, "touches", write.begin)


def merge(job: Job, run: str, block: Block) -> None:
    """Join all fragments that touch, directly or through others, into components."""
    files = sorted(job.touches.glob("*.npz"))
    fragment, component = components.merge([components.load(path) for path in files])
    components.save(job.merged, fragment=fragment, component=component)
    note(job, run, "merge", job.world.voxels(block.write_roi).begin)


def relabel(job: Job, run: str, block: Block) -> None:
    """Replace the number of each fragment by the number of its component."""
    write = job.world.voxels(block.write_roi)
    labels = _read(job.array("fragments"), write)
    fragment, component = components.load_merged(str(job.merged))
    final = np.zeros(labels.shape, component.dtype)
    foreground = labels > 0
    final[foreground] = component[np.searchsorted(fragment, labels[foreground])]
    _write(job.array("labels"), write, final)
    note(job, run, "relabel", write.begin)


def forget() -> None:
    """Forget what this process holds open: a run may begin on arrays made anew."""
    open_array.cache_clear()
    components.load_merged.cache_clear()


def _read(path: str, voxels: Roi) -> npt.NDArray[Any]:
    return np.asarray(open_array(path, "r")[voxels.to_slices()])


def _write(path: str, voxels: Roi, values: npt.NDArray[Any]) -> None:
    open_array(path, "r+")[voxels.to_slices()] = values


def _upper_faces(labels: Labels, shape: tuple[int, ...]) -> Iterator[tuple[Labels, Labels]]:
    """For each axis, the last plane of a block and the plane after it (empty at the edge)."""
    inside = [slice(0, edge) for edge in shape]
    for axis, edge in enumerate(shape):
        last, beyond = list(inside), list(inside)
        last[axis] = slice(edge - 1, edge)
        beyond[axis] = slice(edge, edge + 1)
        at_edge = labels.shape[axis] == edge
        yield labels[tuple(beyond if at_edge else last)], labels[tuple(beyond)]


def _pairs(here: Labels, there: Labels) -> Labels:
    both = (here > 0) & (there > 0)
    return np.unique(np.stack([here[both], there[both]], axis=1), axis=0)
