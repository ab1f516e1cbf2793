"""Blocks of any shape over volumes of any shape give what the whole volume gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("nibabel")
pytest.importorskip("scipy")
zarr = pytest.importorskip("zarr")

from daisy.demo import check, planning, workspace  # noqa: E402
from daisy.demo.arguments import parse  # noqa: E402
from daisy.demo.execute import execute  # noqa: E402
from daisy.demo.pipeline import Fleet  # noqa: E402


@pytest.mark.parametrize("seed", range(8))
def test_random_volume(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    axes = int(rng.integers(2, 4))
    # An axis of one voxel, a halo wider than a block and one wider than the volume included.
    shape = tuple(int(edge) for edge in rng.integers(1, (60, 24)[axes - 2], axes))
    block = [int(rng.integers(max(1, edge // 4), edge + 1)) for edge in shape]
    dtype = str(rng.choice(["uint8", "int16", "float32", "float64", "bool"]))
    voxels = rng.normal(1, 1, shape).astype(dtype)
    attributes = {"voxel_size": rng.integers(1, 50, axes).tolist()}
    attributes["offset"] = rng.integers(-99, 99, axes).tolist()
    zarr.create_array(str(tmp_path / "volume.zarr"), data=voxels, attributes=attributes)
    arguments = ["--input", str(tmp_path / "volume.zarr"), "--output", str(tmp_path / "out")]
    arguments += ["--block-shape", ",".join(map(str, block)), "--sigma", f"{rng.uniform(0.2, 3)}"]
    plan = planning.plan(parse(arguments))
    assert not workspace.prepare(plan.job, restart=False)
    planning.store(plan)
    tallies = execute(plan.job, "run", Fleet(workers=1, launcher="process"), serial=True)
    for one in check.check_all(plan.job, "run", tallies):
        assert one.passed, one.text
