"""From fragments that touch to components: the table, and its way to disk and back."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

Table = Mapping[str, npt.NDArray[Any]]
Merged = tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint32]]


def merge(tables: Sequence[Table]) -> Merged:
    """Give each fragment the number of its component.

    Args:
        tables: One for each block: the ``ids`` of its fragments, their ``sizes`` in voxels, and the
            ``pairs`` of fragments that touch.

    Returns:
        All fragments in ascending order, and their components: 1 is the largest.
    """
    ids = np.concatenate([table["ids"] for table in tables])
    order = np.argsort(ids)
    ids, sizes = ids[order], np.concatenate([table["sizes"] for table in tables])[order]
    if len(ids) == 0:
        return ids, np.zeros(0, np.uint32)
    # scipy before 1.13 finds components only where indices have 32 bits.
    index = np.int32 if len(ids) < 2**31 else np.int64
    pairs = np.searchsorted(ids, np.concatenate([table["pairs"] for table in tables])).astype(index)
    edges = coo_array(
        (np.ones(len(pairs), np.int8), (pairs[:, 0], pairs[:, 1])), shape=(len(ids), len(ids))
    )
    count, component = connected_components(edges, directed=False)
    voxels = np.bincount(component, weights=sizes, minlength=count)
    rank = np.empty(count, np.uint32)
    rank[np.argsort(-voxels, kind="stable")] = np.arange(1, count + 1, dtype=np.uint32)
    return ids, rank[component]


def save(path: Path, **arrays: npt.NDArray[Any]) -> None:
    """Write a table in one step: a reader sees all of it or nothing, whoever is killed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as file:
        np.savez(file, allow_pickle=False, **arrays)
    os.replace(file.name, path)


def load(path: Path) -> Table:
    """Read a table that :func:`save` wrote."""
    with np.load(path) as file:
        return {name: file[name] for name in file.files}


@lru_cache(maxsize=1)
def load_merged(path: str) -> Merged:
    """Read the result of :func:`merge`, once for each process."""
    table = load(Path(path))
    return table["fragment"], table["component"]
