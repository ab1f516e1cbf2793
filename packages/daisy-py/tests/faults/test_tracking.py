"""Tracking stores, masks and reports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import daisy
import numpy
import pytest
import zarr


def line(name: str, blocks: int, function: Any, **options: Any) -> daisy.Task:
    """A task over so many blocks of 10 voxels in a row."""
    total, block = daisy.Roi((0,), (10 * blocks,)), daisy.Roi((0,), (10,))
    return daisy.Task(name, total, block, block, function, read_write_conflict=False, **options)


def run(task: Any) -> bool:
    """Run here, without a word."""
    return bool(daisy.run_blockwise(task, multiprocessing=False, progress=False, summary=False))


def seen_by(task_options: dict[str, Any], blocks: int = 10) -> list[int]:
    """The numbers of the blocks that a run executes."""
    seen: list[int] = []
    assert run(line("t", blocks, lambda block: seen.append(block.block_id[1]), **task_options))
    return seen


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"total_roi": daisy.Roi((0,), (110,))}, "total_roi"),
        ({"write_roi": daisy.Roi((0,), (5,)), "read_roi": daisy.Roi((0,), (5,))}, "write"),
        ({"fit": "shrink"}, "fit"),
    ],
)
def test_a_store_of_another_layout_says_what_changed(
    tmp_path: Path, change: dict[str, Any], named: str
) -> None:
    store = tmp_path / "track"
    arguments: dict[str, Any] = {
        "total_roi": daisy.Roi((0,), (100,)),
        "read_roi": daisy.Roi((0,), (10,)),
        "write_roi": daisy.Roi((0,), (10,)),
        "process_function": lambda block: None,
        "tracking_path": store,
    }
    assert run(daisy.Task("t", **arguments))
    with pytest.raises(daisy.DaisyError, match=named) as caught:
        run(daisy.Task("t", **{**arguments, **change}))
    assert str(store) in str(caught.value)


@pytest.mark.parametrize("name", ["../victim", "/tmp", "", ".", "a/b"])
def test_a_task_id_cannot_lead_out_of_the_basedir(tmp_path: Path, name: str) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    daisy.set_tracking_basedir(tmp_path / "base")
    try:
        with pytest.raises(ValueError, match=r"task_id|name"):
            line(name, 2, lambda block: None).reset()
    finally:
        daisy.set_tracking_basedir(None)
    assert victim.exists()


def test_reset_deletes_nothing_but_a_store(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/precious.txt").write_text("years of work")
    task = line("t", 2, lambda block: None, tracking_path=tmp_path / "data")
    with pytest.raises((daisy.DaisyError, ValueError)):
        task.reset()
    assert (tmp_path / "data/precious.txt").exists()


def test_reset_forgets_what_was_done(tmp_path: Path) -> None:
    options = {"tracking_path": tmp_path / "track"}
    assert len(seen_by(options)) == 10
    assert seen_by(options) == []
    assert line("t", 10, lambda block: None, **options).reset() == tmp_path / "track"
    assert len(seen_by(options)) == 10


def foreign_store(folder: Path, **options: Any) -> None:
    """A `done` array that zarr itself wrote, with the first half done."""
    group = zarr.open_group(folder, mode="w")
    done = group.create_array("done", shape=(10,), dtype="uint8", **options)
    done[:5] = 1


@pytest.mark.parametrize("options", [{"chunks": (10,)}, {"chunks": (5,), "compressors": None}])
def test_an_array_of_the_user_is_honoured_or_refused(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    foreign_store(tmp_path / "track", **options)
    seen, refusal = [], ""
    try:
        seen = seen_by({"tracking_path": tmp_path / "track"})
    except daisy.DaisyError as error:
        refusal = str(error)
    if refusal:
        assert str(tmp_path / "track") in refusal
        done = numpy.asarray(zarr.open_array(tmp_path / "track/done", mode="r"))
        assert done.tolist() == [1] * 5 + [0] * 5
    else:
        assert seen == [5, 6, 7, 8, 9]


def test_a_mask_cell_of_a_half_is_not_zero() -> None:
    mask = numpy.zeros(10)
    mask[3] = 0.5
    assert seen_by({"skip_mask": mask}) == [0, 1, 2, 4, 5, 6, 7, 8, 9]


def test_two_tasks_cannot_share_a_store(tmp_path: Path) -> None:
    a, b = (line(name, 5, lambda block: None, tracking_path=tmp_path / "track") for name in "ab")
    with pytest.raises((daisy.DaisyError, ValueError), match="track"):
        run(a + b)
