"""Blocks as users hold them."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import daisy
import funlib.geometry
import pytest

ROI = daisy.Roi((0, 0), (40, 40))
READ, WRITE = daisy.Roi((10, 0), (14, 14)), daisy.Roi((12, 2), (10, 10))


def test_values() -> None:
    block = daisy.Block(ROI, READ, WRITE, "t")
    assert block.block_id == ("t", 2)
    assert isinstance(block.read_roi, funlib.geometry.Roi)
    assert (block.read_roi, block.write_roi, block.total_roi) == (READ, WRITE, ROI)
    assert block.read_roi is block.read_roi
    assert block.requested_write_roi == WRITE
    assert daisy.Block(ROI, READ, WRITE, "t", 7).block_id == ("t", 7)
    assert daisy.Block(ROI, READ, WRITE, block_id=("u", 7)).task_id == "u"
    with pytest.raises(TypeError, match="block_id"):
        daisy.Block(ROI, READ, WRITE, "t", "x")
    with pytest.raises(AttributeError):
        block.something = 3  # type: ignore[attr-defined]


def test_status_is_an_enum_and_a_number() -> None:
    block = daisy.Block(ROI, READ, WRITE, "t")
    assert block.status == 0
    assert block.status is daisy.BlockStatus.CREATED
    block.status = 2
    assert block.status is daisy.BlockStatus.SUCCESS
    assert (block.status.name, block.status.value) == ("SUCCESS", 2)
    for wrong, kind in ((9, ValueError), ("x", TypeError), (True, TypeError), (None, TypeError)):
        with pytest.raises(kind, match="status"):
            block.status = wrong


def test_blocks_travel_and_compare() -> None:
    block = daisy.Block(ROI, READ, WRITE, "t")
    block.status = daisy.BlockStatus.FAILED
    block.stats = daisy.BlockStats(1.0, 2.0, 3, 4, 5)
    sent = pickle.loads(pickle.dumps(block))
    for other in (sent, copy.deepcopy(block), block.copy()):
        assert other == block
        assert hash(other) == hash(block)
        assert (other.status, other.read_roi) == (block.status, READ)
        assert other.stats is not None
        assert other.stats.cpu_seconds == 2.0
    assert block != daisy.Block(ROI, READ, WRITE, "u")
    assert "FAILED" in repr(block)


def test_measuring_part_of_a_block() -> None:
    block = daisy.Block(ROI, READ, WRITE, "t")
    with daisy.profile_block(block):
        sum(range(300_000))
    first = block.stats
    assert first is not None
    assert first.wall_seconds > 0
    assert first.peak_rss_bytes > 1_000_000
    with daisy.profile_block(block):
        pass
    assert block.stats is first


def task(process: Any = lambda block: None) -> daisy.Task:
    return daisy.Task("t", ROI, daisy.Roi((0, 0), (14, 14)), daisy.Roi((2, 2), (10, 10)), process)


def test_a_scheduler_by_hand() -> None:
    scheduler = daisy.Scheduler(task())
    assert scheduler.acquire_block("unknown") is None
    block = scheduler.acquire_block("t")
    assert block is not None
    assert scheduler.task_states["t"].processing_count == 1
    with pytest.raises(RuntimeError, match="released"):
        scheduler.release_block(block)
    block.status = daisy.BlockStatus.SUCCESS
    scheduler.release_block(block)
    with pytest.raises(RuntimeError, match="not held"):
        scheduler.release_block(block)
    count = 1
    while (block := scheduler.acquire_block("t")) is not None:
        block.status = daisy.BlockStatus.SUCCESS
        scheduler.release_block(block)
        count += 1
    state = scheduler.task_states["t"]
    assert count == state.completed_count == state.total_block_count == 9
    assert state.is_done()


def test_graphs() -> None:
    graph = daisy.BlockwiseDependencyGraph(
        "t", daisy.Roi((0, 0), (14, 14)), daisy.Roi((2, 2), (10, 10)), True, "valid", ROI
    )
    assert (graph.num_blocks, graph.num_levels, graph.num_roots()) == (9, 4, 1)
    every = list(graph.enumerate_all_dependencies())
    assert len(every) == 9
    roots = list(graph.root_gen())
    assert [block for block, upstream in every if not upstream] == roots
    for block, upstream in every:
        assert upstream == graph.upstream(block)
        assert all(block in graph.downstream(before) for before in upstream)
    assert len(graph.get_subgraph_blocks(daisy.Roi((12, 12), (1, 1)))) == 1
    assert len(graph.get_subgraph_blocks(daisy.Roi((12, 12), (1, 1)), read_roi=True)) == 4
    whole = daisy.DependencyGraph([task()])
    assert whole.task_ids == ["t"]
    assert whole.downstream(roots[0]) == graph.downstream(roots[0])
