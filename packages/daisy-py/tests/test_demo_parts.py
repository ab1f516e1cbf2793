"""The parts of the demo that decide: components, chunks, thresholds, the check of the books."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("nibabel")
pytest.importorskip("scipy")

from daisy import Roi
from daisy.demo import arrays, check, components, records
from daisy.demo.errors import BadInput
from daisy.demo.job import STAGES, Job
from daisy.demo.world import World

WORLD = World(offset=(-20, 7), voxel_size=(10, 1), shape=(5, 9), axes=("y", "x"), unit="nanometer")


def job(output: Path) -> Job:
    return Job(str(output), "source", WORLD, (2, 4), sigma=1.0, threshold=0.5, dtype="float32")


def test_world_units_and_voxels() -> None:
    assert WORLD.roi == Roi((-20, 7), (50, 9))
    assert WORLD.voxels(Roi((-20, 7), (20, 4))) == Roi((0, 0), (2, 4))
    assert WORLD.voxels(Roi((10, 3), (40, 8))) == Roi((3, 0), (2, 4))


@pytest.mark.parametrize(
    ("block", "chunk"), [((64, 7), (64, 7)), ((256, 129), (128, 129)), ((300,), (100,))]
)
def test_chunks_divide_the_block(block: tuple[int, ...], chunk: tuple[int, ...]) -> None:
    assert arrays.chunk_shape(block) == chunk


def test_shared_chunks_are_refused() -> None:
    arrays.require_own_chunks("labels", (64, 32), (16, 32))
    with pytest.raises(BadInput, match="'labels' has chunks of 16×24"):
        arrays.require_own_chunks("labels", (64, 32), (16, 24))


def test_merge_joins_through_others_and_ranks_by_size() -> None:
    pairs = np.array([[40, 10], [30, 50]], np.uint64)
    tables = [
        {"ids": np.array([40, 30], np.uint64), "sizes": np.array([2, 1]), "pairs": pairs},
        {
            "ids": np.array([10, 20, 50], np.uint64),
            "sizes": np.array([3, 9, 1]),
            "pairs": np.zeros((0, 2), np.uint64),
        },
    ]
    fragment, component = components.merge(tables)
    assert fragment.tolist() == [10, 20, 30, 40, 50]
    assert component.tolist() == [2, 1, 3, 2, 3]


def test_merge_of_nothing() -> None:
    nothing = np.zeros(0, np.uint64)
    table = {"ids": nothing, "sizes": nothing, "pairs": np.zeros((0, 2), np.uint64)}
    fragment, component = components.merge([table, table])
    assert len(fragment) == len(component) == 0


def fill_books(demo: Job, run: str) -> dict[str, check.Tally]:
    """Books of a run in which everything went right."""
    for stage in STAGES:
        steps = WORLD.shape if stage == "merge" else demo.block_shape
        for row in range(0, WORLD.shape[0], steps[0]):
            for column in range(0, WORLD.shape[1], steps[1]):
                records.note(demo, run, stage, (row, column))
    counts = {stage: demo.block_count(stage) for stage in STAGES}
    return {
        stage: check.Tally(total=count, completed=count, skipped=0, lost=0, again=0)
        for stage, count in counts.items()
    }


def test_books_of_a_good_run(tmp_path: Path) -> None:
    tallies = fill_books(job(tmp_path), "run")
    assert {stage: tally.total for stage, tally in tallies.items()} == {
        "denoise": 9,
        "fragments": 9,
        "touches": 9,
        "merge": 1,
        "relabel": 9,
    }
    assert check.check_blocks(job(tmp_path), "run", tallies).passed


def test_block_done_twice_is_found(tmp_path: Path) -> None:
    tallies = fill_books(job(tmp_path), "run")
    records.note(job(tmp_path), "run", "touches", (2, 4))
    found = check.check_blocks(job(tmp_path), "run", tallies)
    assert not found.passed
    assert "touches: 1 recorded twice, but 0 done again" in found.text


def test_block_done_again_after_a_death_is_right(tmp_path: Path) -> None:
    tallies = fill_books(job(tmp_path), "run")
    records.note(job(tmp_path), "run", "touches", (2, 4))
    tallies["touches"] = check.Tally(total=9, completed=9, skipped=0, lost=0, again=1)
    assert check.check_blocks(job(tmp_path), "run", tallies).passed


def test_lost_block_is_found(tmp_path: Path) -> None:
    tallies = fill_books(job(tmp_path), "run")
    tallies["relabel"] = check.Tally(total=9, completed=8, skipped=0, lost=1, again=0)
    found = check.check_blocks(job(tmp_path), "run", tallies)
    assert "relabel: 1 blocks failed or orphaned" in found.text
