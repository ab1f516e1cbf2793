"""Pipelines whose blocks and contexts do not fit each other neatly."""

from __future__ import annotations

import json
import random
from pathlib import Path

import daisy
import pytest
from faults.program import run_well


def nothing(block: daisy.Block) -> None:
    """Process a block."""


def layout(seed: int) -> list[daisy.Task]:
    """A chain of two or three tasks in one or two dimensions with contexts of any kind."""
    chance = random.Random(seed)
    dims = chance.choice([1, 2])
    tasks: list[daisy.Task] = []
    extent = [chance.randint(12, 40) for _ in range(dims)]
    offset = [chance.randint(-20, 20) for _ in range(dims)]
    for position in range(chance.randint(2, 3)):
        write = [chance.randint(2, 7) for _ in range(dims)]
        below = [chance.choice([0, 0, 1, 3]) for _ in range(dims)]
        above = [chance.choice([0, 0, 1, 4]) for _ in range(dims)]
        task = daisy.Task(
            f"t{position}",
            daisy.Roi(offset, extent),
            daisy.Roi(
                [-low for low in below],
                [low + size + high for low, size, high in zip(below, write, above, strict=True)],
            ),
            daisy.Roi([0] * dims, write),
            nothing,
            fit=chance.choice(["valid", "overhang", "shrink"]),
            read_write_conflict=chance.random() < 0.5,
            max_retries=1,
        )
        tasks.append(task)
    return tasks


def chain(tasks: list[daisy.Task]) -> daisy.Pipeline:
    """The tasks one after the other."""
    pipeline = daisy.Pipeline.from_task(tasks[0])
    for task in tasks[1:]:
        pipeline = pipeline + task
    return pipeline


def parts(state: daisy.TaskState) -> list[int]:
    """The counts that make up the total."""
    return [
        state.pending_count,
        state.ready_count,
        state.processing_count,
        state.completed_count,
        state.failed_count,
        state.orphaned_count,
    ]


def work_off(
    scheduler: daisy.Scheduler, names: list[str], *, chance: random.Random, bad: float
) -> None:
    """Acquire and release until nothing is ready, in random order, failing some."""
    held: list[daisy.Block] = []
    while True:
        for name in names:
            block = scheduler.acquire_block(name)
            if block is not None:
                held.append(block)
        for name, state in scheduler.task_states.items():
            counts = parts(state)
            assert min(counts) >= 0, (name, counts)
            assert sum(counts) == state.total_block_count, (name, counts)
        if not held:
            return
        block = held.pop(chance.randrange(len(held)))
        failed = chance.random() < bad
        block.status = daisy.BlockStatus.FAILED if failed else daisy.BlockStatus.SUCCESS
        scheduler.release_block(block)


@pytest.mark.filterwarnings("ignore:.*has no blocks:UserWarning")
@pytest.mark.filterwarnings("ignore:.*writes:UserWarning")
@pytest.mark.parametrize("bad", [0.0, 0.4])
def test_every_block_ends_and_is_counted_once(bad: float) -> None:
    for seed in range(150):
        tasks = layout(seed)
        scheduler = daisy.Scheduler(chain(tasks))
        work_off(scheduler, [t.task_id for t in tasks], chance=random.Random(seed), bad=bad)
        for name, state in scheduler.task_states.items():
            ended = state.completed_count + state.failed_count + state.orphaned_count
            assert ended == state.total_block_count, (seed, name, parts(state))
            if not bad:
                assert state.completed_count == state.total_block_count, (seed, name)


@pytest.mark.parametrize("seed", range(20))
def test_two_failures_in_one_task_with_conflicts(seed: int) -> None:
    task = daisy.Task(
        "t",
        daisy.Roi((0, 0), (18, 18)),
        daisy.Roi((0, 0), (6, 6)),
        daisy.Roi((1, 1), (4, 4)),
        nothing,
        max_retries=0,
    )
    assert task.block_grid_shape == [4, 4]
    scheduler, chance = daisy.Scheduler(task), random.Random(seed)
    bad = {("t", number) for number in chance.sample(range(24), 2)}
    held: list[daisy.Block] = []
    while True:
        while (block := scheduler.acquire_block("t")) is not None:
            held.append(block)
        if not held:
            break
        block = held.pop(chance.randrange(len(held)))
        failed = block.block_id in bad
        block.status = daisy.BlockStatus.FAILED if failed else daisy.BlockStatus.SUCCESS
        scheduler.release_block(block)
    state = scheduler.task_states["t"]
    assert state.completed_count + state.failed_count + state.orphaned_count == 16


@pytest.mark.parametrize("multiprocessing", [False, True])
def test_context_to_the_right_only(tmp_path: Path, multiprocessing: bool) -> None:
    program = f"""
    a = line("a", 4, lambda block: None)
    b = line("b", 3, lambda block: None, after=10)
    states = daisy.run_blockwise(a + b, multiprocessing={multiprocessing}, return_states=True)
    print(json.dumps([counts(states)[task][4] for task in "ab"]))
    """
    assert json.loads(run_well(tmp_path, program)) == [4, 3]


def test_a_remainder_that_nothing_upstream_writes_is_not_waited_for(tmp_path: Path) -> None:
    program = """
    total = daisy.Roi((0,), (45,))
    a = daisy.Task("a", total, boxes(10), boxes(10), lambda block: None, fit="valid")
    b = daisy.Task("b", total, boxes(5), boxes(5), lambda block: None, fit="shrink")
    try:
        states = daisy.run_blockwise(a + b, return_states=True)
    except ValueError as error:
        print("refused")
    else:
        print(json.dumps([counts(states)[task][4] for task in "ab"]))
    """
    assert run_well(tmp_path, program) in ("[4, 9]", "refused")


@pytest.mark.parametrize("multiprocessing", [False, True])
def test_a_task_without_blocks_in_the_middle(tmp_path: Path, multiprocessing: bool) -> None:
    program = f"""
    a = line("a", 4, lambda block: None)
    b = daisy.Task("b", boxes(40), boxes(100), boxes(100), lambda block: None)
    c = line("c", 4, lambda block: None)
    try:
        pipeline = a + b + c
        states = daisy.run_blockwise(pipeline, multiprocessing={multiprocessing}, return_states=True)
    except ValueError as error:
        print("refused")
    else:
        print(json.dumps([counts(states)[task][4] for task in "abc"]))
    """
    assert run_well(tmp_path, program) in ("[4, 0, 4]", "refused")


@pytest.mark.parametrize("multiprocessing", [False, True])
def test_two_upstream_tasks_at_the_two_ends(tmp_path: Path, multiprocessing: bool) -> None:
    program = f"""
    ends = [daisy.Roi((0,), (20,)), daisy.Roi((80,), (20,))]
    a, b = (
        daisy.Task(name, roi, boxes(10), boxes(10), lambda block: None)
        for name, roi in zip("ab", ends)
    )
    c = daisy.Task("c", boxes(100), boxes(10), boxes(10), lambda block: None)
    states = daisy.run_blockwise((a | b) + c, multiprocessing={multiprocessing}, return_states=True)
    print(json.dumps([counts(states)[task][4] for task in "abc"]))
    """
    assert json.loads(run_well(tmp_path, program)) == [2, 2, 10]


def test_a_chain_of_1500_tasks(tmp_path: Path) -> None:
    program = """
    import warnings

    warnings.simplefilter("ignore", DeprecationWarning)
    task = None
    for number in range(1500):
        upstream = [] if task is None else [task]
        task = line(f"t{number}", 1, lambda block: None, upstream_tasks=upstream)
    print(bool(daisy.run_blockwise([task], multiprocessing=False, progress=False, summary=False)))
    """
    assert run_well(tmp_path, program) == "True"
