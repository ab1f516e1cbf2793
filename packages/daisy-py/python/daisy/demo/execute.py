"""Run the pipeline, and count what the run says about it."""

from __future__ import annotations

import errno
import os
from importlib.util import find_spec

import daisy
from daisy import Pipeline, RunResult, TaskState
from daisy._summary import print_summary
from daisy.demo import stages
from daisy.demo.check import Tally
from daisy.demo.errors import BadInput
from daisy.demo.job import STAGES, Job
from daisy.demo.pipeline import Fleet, build
from daisy.errors import DaisyError

_NO_SPACE = os.strerror(errno.ENOSPC)


def execute(job: Job, run: str, fleet: Fleet, *, serial: bool) -> dict[str, Tally]:
    """Run all stages.

    Raises:
        BadInput: daisy refused the run before it began, or the disk is full.
    """
    stages.forget()
    try:
        # A full disk needs a line, and not the traceback of the block that met it first.
        pipeline = _pipeline(job, run, fleet)
        result = daisy.run_blockwise(pipeline, multiprocessing=not serial, summary=False)
    except DaisyError as error:
        raise BadInput(" ".join(str(error).split())) from error
    _require_space(job, result)
    print_summary(result)
    _save_report(job, result)
    return {stage: _tally(result.states[stage]) for stage in STAGES}


def _pipeline(job: Job, run: str, fleet: Fleet) -> Pipeline:
    try:
        return build(job, run, fleet)
    except (TypeError, ValueError) as error:
        raise BadInput(" ".join(str(error).split())) from error


def _require_space(job: Job, result: RunResult) -> None:
    if any(_NO_SPACE in group.summary for group in result.errors):
        raise BadInput(f"--output: {_NO_SPACE} in {job.output}; make room and repeat the command")


def _save_report(job: Job, result: RunResult) -> None:
    """Draw the page of the run, where the ``report`` extra is installed."""
    if find_spec("plotly") is not None:
        result.save_html(job.report)


def _tally(state: TaskState) -> Tally:
    return Tally(
        total=state.total_block_count,
        completed=state.completed_count - state.skipped_count,
        skipped=state.skipped_count,
        lost=state.failed_count + state.orphaned_count,
        again=state.failed_attempt_count,
    )
