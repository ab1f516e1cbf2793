"""Run the pipeline, and count what the run says about it."""

from __future__ import annotations

import errno

import daisy
from daisy import TaskState
from daisy.demo import stages
from daisy.demo.check import Tally
from daisy.demo.errors import BadInput
from daisy.demo.job import STAGES, Job
from daisy.demo.pipeline import Fleet, build


def execute(job: Job, run: str, fleet: Fleet, *, serial: bool) -> dict[str, Tally]:
    """Run all stages.

    Raises:
        BadInput: daisy refused the run before it began, or the disk is full.
    """
    stages.forget()
    try:
        pipeline = build(job, run, fleet)
        states = daisy.run_blockwise(
            pipeline, multiprocessing=not serial, progress=True, return_states=True
        )
    except (ValueError, RuntimeError) as error:
        raise BadInput(" ".join(str(error).split())) from error
    for stage in STAGES:
        _require_space(job, states[stage])
    return {stage: _tally(states[stage]) for stage in STAGES}


def _require_space(job: Job, state: TaskState) -> None:
    if f"[Errno {errno.ENOSPC}]" in str(state.first_worker_error):
        raise BadInput(f"--output: no space left in {job.output}; the same command goes on")


def _tally(state: TaskState) -> Tally:
    return Tally(
        total=state.total_block_count,
        completed=state.completed_count - state.skipped_count,
        skipped=state.skipped_count,
        lost=state.failed_count + state.orphaned_count,
        again=state.worker_failure_count + state.timeout_reclaim_count,
    )
