"""Order and counts of random pipelines through the Python API, against a judge that looks at all pairs."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import daisy
import pytest
from daisy._task import Fit
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

Box = tuple[tuple[int, ...], tuple[int, ...]]

MOST_BLOCKS = 60

# Tasks without a block are part of the game.
pytestmark = pytest.mark.filterwarnings("ignore:task .* has no blocks")


@dataclass(frozen=True)
class Layout:
    """A task as numbers: all that decides where its blocks are."""

    total: Box
    read: Box
    write: Box
    fit: Fit
    conflict: bool


@st.composite
def layouts(draw: st.DrawFn, dims: int) -> Layout:
    """Layouts with asymmetric contexts, contexts larger than a block, negative offsets and every fit."""
    axes = []
    for _ in range(dims):
        block = draw(st.integers(1, 4))
        lower, upper = draw(st.sampled_from([(0, 0), (1, 0), (0, 2), (1, 1), (5, 2)]))
        begin = draw(st.integers(-6, 6))
        size = draw(st.integers(1, 14 if dims < 3 else 8))
        axes.append((block, lower, upper, begin, size))
    return Layout(
        total=(tuple(a[3] for a in axes), tuple(a[4] + a[1] + a[2] for a in axes)),
        read=(tuple(-a[1] for a in axes), tuple(a[0] + a[1] + a[2] for a in axes)),
        write=((0,) * dims, tuple(a[0] for a in axes)),
        fit=draw(st.sampled_from(["valid", "overhang", "shrink"])),
        conflict=draw(st.booleans()),
    )


@st.composite
def pipelines(draw: st.DrawFn) -> tuple[list[Layout], list[tuple[int, int]]]:
    """Up to four tasks with any edges between them: chains, diamonds, fans, tasks without a block."""
    dims = draw(st.integers(1, 3))
    count = draw(st.integers(1, 4))
    tasks = [draw(layouts(dims)) for _ in range(count)]
    pairs = list(itertools.combinations(range(count), 2))
    edges = [pair for pair in pairs if draw(st.booleans())]
    return tasks, edges


def make_pipeline(tasks: list[Layout], edges: list[tuple[int, int]]) -> daisy.Pipeline:
    """The pipeline of these layouts; retries are off, so that a failure is final."""
    made = [
        daisy.Task(
            f"t{number}",
            daisy.Roi(*layout.total),
            daisy.Roi(*layout.read),
            daisy.Roi(*layout.write),
            process_function=lambda block: None,
            read_write_conflict=layout.conflict,
            fit=layout.fit,
            max_retries=0,
        )
        for number, layout in enumerate(tasks)
    ]
    return daisy.Pipeline(made, [(made[up], made[down]) for up, down in edges])


def bounds(roi: daisy.Roi) -> Box:
    """Begin and end as plain tuples."""
    return tuple(roi.begin), tuple(roi.end)


def meet(one: Box, other: Box) -> bool:
    """Whether two boxes, as begin and end, share a point."""
    return all(
        max(a, c) < min(b, d) for a, b, c, d in zip(one[0], one[1], other[0], other[1], strict=True)
    )


@pytest.mark.filterwarnings("ignore:task .* has no blocks:UserWarning")
@given(pipeline=pipelines(), data=st.data())
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_order_of_releases_keeps_the_order_of_conflicts(
    pipeline: tuple[list[Layout], list[tuple[int, int]]], data: st.DataObject
) -> None:
    """Whoever is quick, no block starts beside a conflicting one or before what it reads is written."""
    tasks, edges = pipeline
    scheduler = daisy.Scheduler(make_pipeline(tasks, edges))
    if sum(state.total_block_count for state in scheduler.task_states.values()) > MOST_BLOCKS:
        return
    names = [f"t{number}" for number in range(len(tasks))]
    upstream = {name: {f"t{up}" for up, down in edges if f"t{down}" == name} for name in names}
    conflict = {f"t{number}": layout.conflict for number, layout in enumerate(tasks)}
    running: dict[tuple[str | None, int], tuple[Box, Box, daisy.Block]] = {}
    done: dict[tuple[str | None, int], tuple[Box, Box]] = {}
    failed: set[tuple[str, int]] = set()

    def begin(name: str) -> None:
        block = scheduler.acquire_block(name)
        if block is None:
            return
        read, write = bounds(block.read_roi), bounds(block.write_roi)
        assert block.block_id not in running
        assert block.block_id not in done
        for (other_name, _), (other_read, other_write, _) in running.items():
            if other_name == name and conflict[name]:
                assert not meet(read, other_write), "reads what another writes"
                assert not meet(write, other_read), "writes what another reads"
            if other_name in upstream[name]:
                assert not meet(read, other_write), "started before what it reads is written"
        running[block.block_id] = (read, write, block)

    while True:
        for name in names:
            if data.draw(st.booleans()):
                begin(name)
        if not running:
            for name in names:
                begin(name)
            if not running:
                break
        key = data.draw(st.sampled_from(sorted(running)))
        read, write, block = running.pop(key)
        if data.draw(st.integers(0, 9)) == 0:
            block.status = daisy.BlockStatus.FAILED
            failed.add(key)
        else:
            block.status = daisy.BlockStatus.SUCCESS
            done[key] = (read, write)
        scheduler.release_block(block)

    for name, state in scheduler.task_states.items():
        assert state.is_done()
        mine = sum(1 for task, _ in done if task == name)
        bad = sum(1 for task, _ in failed if task == name)
        assert (state.completed_count, state.failed_count) == (mine, bad)
        assert mine + bad + state.orphaned_count == state.total_block_count
        if not failed:
            assert state.orphaned_count == 0


@pytest.mark.parametrize("dims", range(1, 9))
def test_one_to_eight_dimensions_run(dims: int) -> None:
    """Every rank that is allowed hands out each block once."""
    task = daisy.Task(
        "t",
        daisy.Roi((-1,) * dims, (5,) * dims),
        daisy.Roi((-1,) * dims, (3,) * dims),
        daisy.Roi((0,) * dims, (2,) * dims),
        process_function=lambda block: None,
        fit="shrink",
    )
    seen: list[tuple[str, int]] = []

    def note(block: daisy.Block) -> None:
        seen.append(block.block_id)

    task.process_function = note
    assert daisy.run_blockwise(task, multiprocessing=False, progress=False, summary=False)
    assert len(seen) == len(set(seen)) == 2**dims
