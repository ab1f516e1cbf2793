"""One-dimensional tasks whose blocks may all run at once, and runs without output."""

from __future__ import annotations

from typing import Any

import daisy


def blocks(count: int, process: Any, **options: Any) -> daisy.Task:
    """A task of `count` blocks, numbered from 0, that may all run at once."""
    return daisy.Task(
        options.pop("task_id", "t"),
        daisy.Roi((0,), (count * 10,)),
        daisy.Roi((0,), (10,)),
        daisy.Roi((0,), (10,)),
        process_function=process,
        read_write_conflict=False,
        **options,
    )


def run(pipeline: Any, **options: Any) -> daisy.RunResult:
    """Run without bars and summary."""
    result = daisy.run_blockwise(pipeline, progress=False, summary=False, **options)
    assert isinstance(result, daisy.RunResult)
    return result
