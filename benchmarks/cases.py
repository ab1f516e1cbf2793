"""The work that is measured, and the bars it is judged by."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from packages import CUBED, DASK, DASK_OVERLAP, OURS, PEER, POOL, Package

BOTH = (OURS, PEER)
RATE = "blocks_per_second"
MILLION = 10**6


@dataclass(frozen=True)
class Case:
    """One piece of work, done by several packages.

    Attributes:
        name: What to call it on the command line.
        request: The adapter's case and its parameters.
        figure: The figure that is compared.
        packages: Who does it.
        quick: Parameters that differ with ``--quick``.
        smaller: Parameters that differ for a package that would take hours.
        bar: How many times better than daisy 2.0.0 daisy-py must be.
        limit: What daisy-py's figure may be at most.
        note: What a reader must know.
    """

    name: str
    request: dict[str, Any]
    figure: str
    packages: tuple[Package, ...] = BOTH
    quick: dict[str, Any] = field(default_factory=dict)
    smaller: dict[str, dict[str, Any]] = field(default_factory=dict)
    bar: float | None = None
    limit: float | None = None
    note: str = ""

    def ask(self, package: Package, *, quick: bool) -> dict[str, Any]:
        """The request for one package."""
        changed = self.quick if quick else {}
        smaller = self.smaller.get(package.name, {})
        request = {**self.request, **smaller, **changed}
        if smaller and "blocks" in request:
            request["blocks"] = min(request["blocks"], smaller.get("blocks", request["blocks"]))
        return request


def _workers(workers: int, axes: int, **more: object) -> dict[str, Any]:
    request = {"case": "workers", "axes": axes, "halo": axes > 1, "blocks": 10**5}
    return {**request, "workers": workers, **more}


def _scheduler(axes: int, **more: object) -> dict[str, Any]:
    return {"case": "scheduler", "axes": axes, "halo": axes > 1, "blocks": MILLION, **more}


def _sparse(kind: str, axes: int = 3, **more: object) -> dict[str, Any]:
    request = {"case": "sparse", "kind": kind, "axes": axes, "halo": False, "blocks": 10**8}
    return {**request, **more}


def _overhead(**more: object) -> dict[str, Any]:
    request = {"case": "overhead", "axes": 1, "halo": False, "blocks": 3 * 10**5}
    return {**request, "rounds": 5, "store": "fresh", **more}


FEW = {"blocks": 10**4}
FEWEST = {"blocks": 400}
SOME = {"blocks": 10**5}

NO_OP = [
    Case("noop-1d-w1", _workers(1, 1, blocks=3 * 10**4), RATE, quick=FEW),
    Case(
        "noop-1d-w2",
        _workers(2, 1),
        RATE,
        packages=(OURS, PEER, POOL, DASK, DASK_OVERLAP, CUBED),
        quick=FEW,
        smaller={DASK.name: FEW, DASK_OVERLAP.name: FEWEST, CUBED.name: FEWEST},
        bar=40,
        note="the headline; Pool counts its start, as both daisies do, dask does not",
    ),
    Case("noop-1d-w8", _workers(8, 1, blocks=3 * 10**4), RATE, quick=FEW),
    Case("noop-3d-w1", _workers(1, 3, blocks=27_000), RATE, quick=FEW),
    Case("noop-3d-w2", _workers(2, 3), RATE, quick=FEW, bar=40, note="neighbours conflict"),
    Case("noop-3d-w8", _workers(8, 3, blocks=27_000), RATE, quick=FEW),
    Case(
        "server-cpu",
        _workers(2, 1),
        "driver_cpu_us_per_block",
        quick=FEW,
        limit=5,
        note="CPU of the driver process: start of workers included, divided by the blocks",
    ),
]

SCHEDULER = [
    Case("scheduler-1d", _scheduler(1), RATE, quick=SOME, bar=3),
    Case("scheduler-3d", _scheduler(3), RATE, quick=SOME, bar=20),
    Case(
        "chain-3d",
        {"case": "chain", "axes": 3, "halo": True, "blocks": 10**5},
        RATE,
        quick={"blocks": 1000},
        smaller={PEER.name: {"blocks": 8000}},
        bar=200,
        note="three tasks; daisy 2.0.0 with 8,000 blocks a task, since it would take minutes",
    ),
    Case(
        "chain-3d-serial",
        {"case": "chain", "axes": 3, "halo": True, "blocks": 10**5, "serial": True},
        RATE,
        quick={"blocks": 1000},
        smaller={PEER.name: {"blocks": 8000}},
        bar=200,
    ),
    Case(
        "chain-3d-no-halo",
        {"case": "chain", "axes": 3, "halo": False, "blocks": 10**5},
        RATE,
        quick={"blocks": 8000},
        bar=5,
    ),
]

MEMORY = [
    Case(
        "memory-3d",
        _scheduler(3, blocks=10**9, limit=5 * MILLION),
        "mib_per_million_blocks",
        quick={"limit": MILLION},
        smaller={PEER.name: {"blocks": MILLION, "limit": MILLION}},
        limit=20,
        note="growth over 5 million of a billion blocks; daisy 2.0.0: a million of a million",
    ),
    Case(
        "memory-chain",
        {"case": "chain", "axes": 3, "halo": True, "blocks": MILLION},
        "rss_mib",
        packages=(OURS,),
        quick=SOME,
        limit=100,
        note="three tasks of a million blocks: growth of the process",
    ),
    Case(
        "huge-time",
        {"case": "huge", "axes": 3, "halo": True, "blocks": 10**9},
        "seconds",
        limit=0.05,
        note="a task of a billion blocks, and its first block; 8 GiB allowed",
    ),
    Case(
        "huge-memory",
        {"case": "huge", "axes": 3, "halo": True, "blocks": 10**9},
        "rss_mib",
        limit=50,
    ),
]

START = [
    Case("import", {"case": "import"}, "seconds", bar=1),
    Case("start-2", _workers(2, 1, blocks=10), "seconds", bar=1, note="10 blocks, 2 workers"),
    Case(
        "start-64",
        _workers(64, 1, blocks=100),
        "seconds",
        limit=2,
        note="100 blocks, 64 workers",
    ),
    Case(
        "busy-w2",
        _workers(2, 1, blocks=2000, spin=True),
        RATE,
        quick={"blocks": 500},
        note="blocks of 10 ms of CPU time",
    ),
    Case(
        "busy-w64",
        _workers(64, 1, blocks=2000, spin=True),
        RATE,
        quick={"blocks": 500},
        note="the same with far more workers than cores; compare with busy-w2",
    ),
    Case(
        "gaussian",
        {
            "case": "fleets",
            "axes": 1,
            "halo": False,
            "blocks": 2000,
            "fleets": [2, 64],
            "rounds": 3,
        },
        "share_lost",
        packages=(OURS, PEER, POOL),
        quick={"blocks": 600, "rounds": 2},
        smaller={PEER.name: {"rounds": 1}},
        limit=0.3,
        note="Gaussians of 10 ms: the share of the rate of 2 workers that 64 lose, in turns; "
        "in Pool each worker imports for itself",
    ),
    Case(
        "wait-w8",
        _workers(8, 1, blocks=128, wait=True),
        "seconds",
        quick={"blocks": 64},
        note="8 workers, 16 blocks of 100 ms for each: 1.6 s if nobody hoards, and the start of the workers",
    ),
]

TRACKING = [
    Case(
        "resume-1d",
        {"case": "resume", "axes": 1, "halo": False, "blocks": MILLION, "store": "resume-1d"},
        "seconds",
        quick=SOME,
        bar=20,
    ),
    Case(
        "resume-3d",
        {"case": "resume", "axes": 3, "halo": True, "blocks": MILLION, "store": "resume-3d"},
        "seconds",
        quick=SOME,
        bar=20,
    ),
    Case(
        "masked",
        _sparse("tail", axes=1),
        "seconds",
        packages=(OURS,),
        quick={"blocks": 10**7},
        limit=0.5,
        note="10⁸ blocks, of which a mask leaves the last 1 %: time to the first useful block",
    ),
    Case(
        "masked-random",
        _sparse("random"),
        "seconds",
        packages=(OURS,),
        quick={"blocks": 10**7},
        limit=0.5,
        note="of 10⁸ blocks, 1 % here and there is masked out",
    ),
    Case(
        "masked-function",
        _sparse("function"),
        "seconds",
        packages=(OURS,),
        quick={"blocks": 10**7},
        limit=0.5,
        note="a function of regions masks all of 10⁸ blocks but a ball",
    ),
    Case(
        "done-all",
        _sparse("done", store="done-all"),
        "seconds",
        packages=(OURS,),
        quick={"blocks": 10**7},
        limit=0.5,
        note="all of 10⁸ blocks were done before: the whole run",
    ),
    Case(
        "done-half",
        _sparse("half", store="done-half"),
        "seconds",
        packages=(OURS,),
        quick={"blocks": 10**7},
        limit=0.5,
        note="half of 10⁸ blocks were done before: time to the first useful block",
    ),
    Case(
        "tracking-cpu",
        _overhead(),
        "us_per_block",
        packages=(OURS,),
        quick={"blocks": 2 * 10**4, "rounds": 3},
        limit=0.1,
        note="CPU time that a tracking store adds; 5 % of what a no-op block takes two workers and a driver",
    ),
    Case(
        "resources-cpu",
        _overhead(resources=True),
        "us_per_block",
        packages=(OURS,),
        quick={"blocks": 2 * 10**4, "rounds": 3},
        limit=10,
        note="the same with CPU, memory and I/O of each block",
    ),
    Case(
        "tracking-on",
        _workers(2, 1, store="fresh"),
        RATE,
        quick=FEW,
        note="as noop-1d-w2, with a tracking store",
    ),
    Case(
        "resources-on",
        _workers(2, 1, store="fresh", resources=True),
        RATE,
        quick=FEW,
        note="as tracking-on, with CPU, memory and I/O of each block",
    ),
]

CASES = {case.name: case for case in (*NO_OP, *SCHEDULER, *MEMORY, *START, *TRACKING)}


@dataclass(frozen=True)
class Overhead:
    """How one case compares with another of the same package.

    Attributes:
        name: What is compared.
        case: The case with the burden.
        base: The case without it.
        limit: The loss daisy-py may have, as a share of the rate of ``base``.
    """

    name: str
    case: str
    base: str
    limit: float


OVERHEADS = [
    Overhead("tracking", "tracking-on", "noop-1d-w2", 0.05),
    Overhead("64 workers instead of 2", "busy-w64", "busy-w2", 0.3),
]
