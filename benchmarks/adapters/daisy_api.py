"""Adapter for daisy-py and for daisy 2.0.0: the same calls, whichever the interpreter imports."""

from __future__ import annotations

import json
import math
import resource
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any

BEFORE_IMPORT = time.perf_counter()
import daisy  # noqa: E402
import daisy.logging  # noqa: E402

IMPORT_SECONDS = time.perf_counter() - BEFORE_IMPORT

import numpy  # noqa: E402
import numpy.typing as npt  # noqa: E402

from adapters.fleets import compare, smooth  # noqa: E402
from adapters.measure import Figures, Request, require, serve, spent  # noqa: E402

BlockFunction = Callable[[daisy.Block], None]
Work = daisy.Task | daisy.Pipeline

BLOCK_EDGE = 10
HALO = 2
GIBIBYTE = 2**30


def no_op(_block: daisy.Block) -> None:
    """Do nothing, so that only the scheduler is measured."""


def spin(_block: daisy.Block) -> None:
    """Keep a core busy for 10 ms of CPU time."""
    end = time.process_time() + 0.01
    while time.process_time() < end:
        pass


def wait(_block: daisy.Block) -> None:
    """Take 100 ms, and no processor."""
    time.sleep(0.1)


def gaussian(_block: daisy.Block) -> None:
    """Smooth a volume."""
    smooth()


def make_task(
    request: Request,
    name: str = "work",
    function: BlockFunction = no_op,
    skip_mask: Any = None,
) -> daisy.Task:
    """A task of about ``blocks`` blocks along ``axes`` axes; ``halo`` makes neighbours conflict."""
    axes, halo = request["axes"], HALO if request["halo"] else 0
    write = daisy.Roi((0,) * axes, (BLOCK_EDGE,) * axes)
    grown = daisy.Coordinate((halo,) * axes)
    edge = round(request["blocks"] ** (1 / axes)) * BLOCK_EDGE
    return daisy.Task(
        name,
        total_roi=daisy.Roi((0,) * axes, (edge,) * axes).grow(grown, grown),
        read_roi=write.grow(grown, grown),
        write_roi=write,
        process_function=function,
        read_write_conflict=request["halo"],
        max_workers=request.get("workers", 1),
        tracking_path=request.get("store", False),
        resource_tracking=request.get("resources", False),
        skip_mask=skip_mask,
    )


def block_count(request: Request) -> int:
    """Blocks of :func:`make_task`: the nearest that fill a line, a square or a cube."""
    return int(round(request["blocks"] ** (1 / request["axes"])) ** request["axes"])


def run(pipeline: Work, expected: int, *, multiprocessing: bool = True) -> None:
    """Run a task or pipeline silently, and see that no block is missing."""
    states = daisy.run_blockwise(
        pipeline,
        multiprocessing=multiprocessing,
        progress=False,
        summary=False,
        return_states=True,
    )
    require(sum(state.completed_count for state in states.values()), expected)


def workers(request: Request) -> Figures:
    """No-op blocks (or blocks of 10 ms of work, or of 100 ms of waiting) through worker processes."""
    function = spin if request.get("spin") else wait if request.get("wait") else no_op
    task, count = make_task(request, function=function), block_count(request)
    with spent() as cost:
        run(task, count)
    return {
        "seconds": cost.seconds,
        "blocks_per_second": count / cost.seconds,
        "driver_cpu_us_per_block": cost.cpu_seconds / count * 1e6,
        "worker_cpu_us_per_block": cost.worker_cpu_seconds / count * 1e6,
    }


def fleets(request: Request) -> Figures:
    """The same work with few workers and with many."""

    def do(workers: int) -> None:
        task = make_task({**request, "workers": workers}, function=gaussian)
        run(task, block_count(request))

    return compare(request, do)


def drain(pipeline: Work, names: list[str], limit: int) -> int:
    """Acquire and release blocks, no more than ``limit``; those furthest downstream first."""
    scheduler = daisy.Scheduler(pipeline)
    done, success = 0, daisy.BlockStatus.SUCCESS
    acquire, release = scheduler.acquire_block, scheduler.release_block
    while done < limit:
        block = next(filter(None, map(acquire, names)), None)
        if block is None:
            break
        block.status = success
        release(block)
        done += 1
    return done


def scheduler(request: Request) -> Figures:
    """The scheduler alone: acquire and release in a Python loop."""
    task = make_task(request)
    limit = min(request.get("limit", math.inf), block_count(request))
    with spent() as cost:
        require(drain(task, ["work"], int(limit)), int(limit))
    return {
        "seconds": cost.seconds,
        "cpu_seconds": cost.cpu_seconds,
        "blocks_per_second": limit / cost.seconds,
        "mib_per_million_blocks": cost.rss_mib / limit * 1e6,
    }


def chain(request: Request) -> Figures:
    """Three tasks, each reading with a halo what the one before wrote."""
    names = ["first", "second", "third"]
    tasks = [make_task(request, name) for name in names]
    pipeline, count = tasks[0] + tasks[1] + tasks[2], 3 * block_count(request)
    with spent() as cost:
        if request.get("serial"):
            run(pipeline, count, multiprocessing=False)
        else:
            require(drain(pipeline, names[::-1], count), count)
    return {
        "seconds": cost.seconds,
        "cpu_seconds": cost.cpu_seconds,
        "blocks_per_second": count / cost.seconds,
        "rss_mib": cost.rss_mib,
    }


def import_time(_request: Request) -> Figures:
    """The import of a fresh interpreter, as measured at the top of this file."""
    return {"seconds": IMPORT_SECONDS}


def resume(request: Request) -> Figures:
    """Skip blocks that an earlier run did; the first request on a store does them."""
    count = block_count(request)
    if not Path(request["store"]).exists():
        run(make_task(request), count, multiprocessing=False)
    task = make_task(request, function=_never)
    with spent() as cost:
        states = daisy.run_blockwise(task, progress=False, summary=False, return_states=True)
    require(states["work"].skipped_count, count)
    return {"seconds": cost.seconds, "cpu_seconds": cost.cpu_seconds}


def _never(_block: daisy.Block) -> None:
    raise RuntimeError("a block that is done was given out again")


class _FirstBlock(Exception):
    """Ends a serial run at the first block that is not skipped."""


def _stop(_block: daisy.Block) -> None:
    raise _FirstBlock


def sparse(request: Request) -> Figures:
    """Many blocks that need not run: how long until the first that must, or until the end if none does."""
    grid = make_task({**request, "store": False}).block_grid_shape
    kind, most = request["kind"], int(numpy.prod(grid))
    mask = MASKS[kind](grid) if kind in MASKS else None
    if kind in DONE and not Path(request["store"]).exists():
        nothing = numpy.ones(grid, numpy.uint8)
        run(make_task(request, skip_mask=nothing), most, multiprocessing=False)
        _mark(Path(request["store"]) / "done", int(grid[0] * DONE[kind]))
    task = make_task(request, function=_stop, skip_mask=mask)
    with spent() as cost, suppress(_FirstBlock):
        run(task, most, multiprocessing=False)
    return {"seconds": cost.seconds, "cpu_seconds": cost.cpu_seconds}


DONE = {"done": 1.0, "half": 0.5}
"""Share of the blocks that an earlier run did, from the first on."""


def _mark(array: Path, planes: int) -> None:
    """Write the marks of a run that did the first planes of blocks, without doing them."""
    metadata = json.loads((array / "zarr.json").read_text())
    shape, chunk = metadata["shape"], metadata["chunk_grid"]["configuration"]["chunk_shape"]
    counts = [-(-size // step) for size, step in zip(shape, chunk, strict=True)]
    marks = bytes([1]) * math.prod(chunk)
    for position in numpy.ndindex(-(-planes // chunk[0]), *counts[1:]):
        path = array.joinpath("c", *map(str, position))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(marks)


def _tail(grid: Sequence[int]) -> npt.NDArray[numpy.uint8]:
    mask = numpy.ones(grid, numpy.uint8)
    mask[-max(1, grid[0] // 100) :] = 0
    return mask


def _random(grid: Sequence[int]) -> npt.NDArray[numpy.uint8]:
    mask = numpy.random.default_rng(0).random(grid, dtype=numpy.float32) < 0.01
    mask[0] = True
    return mask.view(numpy.uint8)


def _ball(grid: Sequence[int]) -> Callable[[daisy.Roi], bool | None]:
    """All but a ball of ten blocks in the middle, asked for by the region."""
    middle = [size * BLOCK_EDGE / 2 for size in grid]

    def outside(roi: daisy.Roi) -> bool | None:
        # From the middle of the first block to that of the last, so that a single block is decided.
        half = BLOCK_EDGE / 2
        ends = zip(roi.begin, roi.end, middle, strict=True)
        sides = [(begin + half, end - half, at) for begin, end, at in ends]
        nearest = sum(max(low - at, 0, at - high) ** 2 for low, high, at in sides)
        farthest = sum(max(abs(low - at), abs(high - at)) ** 2 for low, high, at in sides)
        radius = (10 * BLOCK_EDGE) ** 2
        return True if nearest > radius else False if farthest <= radius else None

    return outside


MASKS: dict[str, Callable[[Sequence[int]], Any]] = {
    "tail": _tail,
    "random": _random,
    "function": _ball,
}


def overhead(request: Request) -> Figures:
    """What tracking costs: runs with and without it in turns, by CPU time; serial ones, so that none is missed."""
    count = block_count(request)
    costs: dict[bool, list[float]] = {False: [], True: []}
    for turn in range(2 * request["rounds"]):
        burdened = turn % 2 == 1
        store = Path(request["store"])
        shutil.rmtree(store, ignore_errors=True)
        plain = {**request, "store": False, "resources": False}
        with spent() as cost:
            run(make_task(request if burdened else plain), count, multiprocessing=False)
        costs[burdened].append(cost.cpu_seconds)
    return {"us_per_block": (median(costs[True]) - median(costs[False])) / count * 1e6}


def huge(request: Request) -> Figures:
    """A task of a billion blocks: made, and its first block handed out."""
    resource.setrlimit(resource.RLIMIT_AS, (8 * GIBIBYTE, 8 * GIBIBYTE))
    with spent() as cost:
        task = make_task(request)
        require(drain(task, ["work"], 1), 1)
    return {"seconds": cost.seconds, "rss_mib": cost.rss_mib}


CASES = {
    "workers": workers,
    "fleets": fleets,
    "scheduler": scheduler,
    "chain": chain,
    "import": import_time,
    "resume": resume,
    "huge": huge,
    "sparse": sparse,
    "overhead": overhead,
}

if __name__ == "__main__":
    daisy.logging.set_log_basedir(None)
    serve(CASES)
    sys.exit(0)
