"""``daisy demo`` from the first line to the exit code."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

import daisy.logging
from daisy.demo import check, picture, planning, workspace
from daisy.demo.arguments import Options, parse
from daisy.demo.errors import BadInput
from daisy.demo.execute import execute
from daisy.demo.job import STAGES, Job
from daisy.demo.pipeline import Fleet
from daisy.errors import LauncherUnavailable
from daisy.launchers import load

_INTERRUPTED = 130


def run(arguments: Sequence[str] | None) -> int:
    """Run the demo; see :func:`daisy.demo.main` for the exit codes."""
    try:
        return _demo(parse(arguments))
    except BadInput as error:
        print(f"daisy demo: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        # A full disk, a folder that went away: whatever it is, not a fault of the demo.
        print(f"daisy demo: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("daisy demo: interrupted; the same command goes on from here", file=sys.stderr)
        return _INTERRUPTED


def _demo(options: Options) -> int:
    began = time.monotonic()
    plan = planning.plan(options)
    _require_launcher(options.launcher)
    job = plan.job
    resumed = workspace.prepare(job, restart=options.restart)
    workspace.require_space(job)
    _say_what_is_to_come(plan, resumed=resumed)
    daisy.logging.set_log_basedir(str(Path(job.output, "logs")))
    planning.store(plan)
    name = f"{time.strftime('%Y-%m-%dT%H-%M-%S')}-{time.time_ns() % 10**9:09}"
    fleet = Fleet(workers=options.workers, launcher=options.launcher)
    tallies = execute(job, name, fleet, serial=options.serial)
    passed = _judge(job, name, tallies)
    _say_where_things_are(job)
    print(f"\n{'All checks passed' if passed else 'FAILED'} in {time.monotonic() - began:.1f} s")
    return 0 if passed else 1


def _require_launcher(name: str) -> None:
    """Refuse a launcher that is not there before anything is written."""
    try:
        load(name)
    except LauncherUnavailable as error:
        what = str(error).removeprefix("argument 'launcher': ")
        raise BadInput(f"--launcher: {what}") from error


def _say_what_is_to_come(plan: planning.Plan, *, resumed: bool) -> None:
    job = plan.job
    shape, block = (" × ".join(map(str, edges)) for edges in (job.world.shape, job.block_shape))
    print(f"{plan.title}: {shape} voxels in blocks of {block}")
    left = sum(workspace.blocks_to_do(job).values())
    total = sum(job.block_count(stage) for stage in STAGES)
    if resumed:
        print(f"Resuming: {left:,} blocks to do of {total:,} (--restart begins anew)")
    else:
        print(f"{total:,} blocks to do in {len(STAGES)} stages: {' → '.join(STAGES)}")


def _judge(job: Job, name: str, tallies: dict[str, check.Tally]) -> bool:
    blocks = check.check_blocks(job, name, tallies)
    checks = [blocks] if not blocks.passed else check.check_all(job, name, tallies)
    print("\nChecks\n------\n")
    for one in checks:
        print(f"    {'✔' if one.passed else '✗'} {one.text}")
    picture.draw(job, Path(job.output, "demo.png"))
    return all(one.passed for one in checks)


def _say_where_things_are(job: Job) -> None:
    places = {
        "picture": Path(job.output, "demo.png"),
        "report": job.report if job.report.exists() else Path(job.output, "logs", "report.json"),
        "volumes": job.volumes,
        "logs": Path(job.output, "logs"),
        "tracking": Path(job.output, "tracking"),
    }
    print("\nResults\n-------\n")
    for name, path in places.items():
        print(f"    {name:<9} {path}")
