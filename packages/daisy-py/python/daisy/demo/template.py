"""The input a stranger has at once: the brain template inside the PyPI package nilearn."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import numpy.typing as npt
import zarr

from daisy.demo.arrays import create_array
from daisy.demo.errors import BadInput
from daisy.demo.world import World

SIGMA = 1.0
"""Voxels. Enough for a template that is an average of 152 brains already."""

THRESHOLD = 200.0
"""Between grey matter (around 180) and white matter (around 220)."""

_FILE = Path("datasets", "data", "mni_icbm152_t1_tal_nlin_sym_09a_converted.nii.gz")
_UNIT = "micrometer"
_UNITS_PER_MILLIMETRE = 1000
_CHUNKS = (64, 64, 64)


def path() -> Path:
    """Find the template, without importing nilearn (which takes seconds)."""
    package = find_spec("nilearn")
    places = package.submodule_search_locations if package else None
    found = [place for place in map(Path, places or ()) if (place / _FILE).is_file()]
    if not found:
        raise BadInput(
            f"the installed nilearn has no {_FILE.name}; expected it under nilearn/{_FILE.parent}: "
            f'pip install "nilearn>=0.11", or give a volume with --input'
        )
    return found[0] / _FILE


def read() -> tuple[npt.NDArray[Any], World]:
    """Read the template: one byte a voxel, axes z, y, x, and its place in MNI space."""
    image = nibabel.Nifti1Image.from_filename(path())
    voxels = np.ascontiguousarray(np.asanyarray(image.dataobj).T)
    affine = np.asarray(image.affine)
    edges, origin = reversed(np.diagonal(affine)[:3]), reversed(affine[:3, 3])
    world = World(
        offset=tuple(round(float(begin) * _UNITS_PER_MILLIMETRE) for begin in origin),
        voxel_size=tuple(round(float(edge) * _UNITS_PER_MILLIMETRE) for edge in edges),
        shape=voxels.shape,
        axes=("z", "y", "x"),
        unit=_UNIT,
    )
    return voxels, world


def write(group: zarr.Group, name: str, voxels: npt.NDArray[Any], world: World) -> None:
    """Store the template as a chunked zarr array."""
    array = create_array(group, name, world, str(voxels.dtype), _CHUNKS)
    array[...] = voxels
