"""Adapter for daisy-py and for daisy 2.0.0: the same calls, whichever the interpreter imports."""

from __future__ import annotations

import math
import resource
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

BEFORE_IMPORT = time.perf_counter()
import daisy  # noqa: E402
import daisy.logging  # noqa: E402

IMPORT_SECONDS = time.perf_counter() - BEFORE_IMPORT

import numpy  # noqa: E402
import numpy.typing as npt  # noqa: E402

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


def make_task(
    request: Request,
    name: str = "work",
    function: BlockFunction = no_op,
    skip_mask: npt.NDArray[numpy.uint8] | None = None,
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


def masked(request: Request) -> Figures:
    """Most blocks masked out: how long until the first that is not."""
    count = block_count(request)
    mask = numpy.ones(count, numpy.uint8)
    mask[-count // 100 :] = 0
    task = make_task(request, function=_stop, skip_mask=mask)
    with spent() as cost, suppress(_FirstBlock):
        run(task, count, multiprocessing=False)
    return {"seconds": cost.seconds}


def huge(request: Request) -> Figures:
    """A task of a billion blocks: made, and its first block handed out."""
    resource.setrlimit(resource.RLIMIT_AS, (8 * GIBIBYTE, 8 * GIBIBYTE))
    with spent() as cost:
        task = make_task(request)
        require(drain(task, ["work"], 1), 1)
    return {"seconds": cost.seconds, "rss_mib": cost.rss_mib}


CASES = {
    "workers": workers,
    "scheduler": scheduler,
    "chain": chain,
    "import": import_time,
    "resume": resume,
    "huge": huge,
    "masked": masked,
}

if __name__ == "__main__":
    daisy.logging.set_log_basedir(None)
    serve(CASES)
    sys.exit(0)
