# mypy: ignore-errors
# What users write, over libraries without annotations, in environments where mypy is not.
"""Threshold and argmax of an array with volara: `volara_program.py FOLDER serial|multiprocessing`."""

import sys
from pathlib import Path
from typing import Any

import numpy
import volara.logging
from funlib.geometry import Coordinate
from funlib.persistence import prepare_ds
from volara.blockwise import Argmax, Threshold
from volara.datasets import Labels, Raw

SHAPE = (64, 64, 64)
BLOCK = Coordinate(8, 8, 8)


def inputs(folder: Path) -> None:
    """Write the same arrays on every run, unless they are there already."""
    if (folder / "data.zarr").exists():
        return
    random = numpy.random.default_rng(7)
    raw = prepare_ds(folder / "data.zarr/raw", SHAPE, chunk_shape=BLOCK, dtype=numpy.float32)
    raw[:] = random.random(SHAPE, dtype=numpy.float32)
    probabilities = prepare_ds(
        folder / "data.zarr/probabilities",
        (3, *SHAPE),
        axis_names=["c^", "z", "y", "x"],
        types=["channel", "space", "space", "space"],
        chunk_shape=(3, *BLOCK),
        dtype=numpy.float32,
    )
    probabilities[:] = random.random((3, *SHAPE), dtype=numpy.float32)


def tasks(folder: Path) -> Any:
    """Two blockwise tasks of volara over these arrays."""
    data = folder / "data.zarr"
    threshold = Threshold(
        in_data=Raw(store=data / "raw"),
        mask=Labels(store=data / "mask"),
        threshold=0.4,
        block_size=BLOCK,
        num_workers=2,
    )
    argmax = Argmax(
        probs_data=Raw(store=data / "probabilities"),
        sem_data=Labels(store=data / "classes"),
        block_size=BLOCK,
        num_workers=2,
    )
    return threshold | argmax


if __name__ == "__main__":
    where = Path(sys.argv[1])
    volara.logging.set_log_basedir(where / "volara_logs")
    inputs(where)
    tasks(where).run_blockwise(multiprocessing=sys.argv[2] == "multiprocessing")
