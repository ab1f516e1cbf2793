"""What any launcher must do: one suite for the built-in ones and for those of others.

>>> from daisy.testing import launcher_conformance
>>> launcher_conformance("thread")
"""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Callable
from pathlib import Path

from daisy import _core
from daisy._result import RunResult
from daisy._run import run_blockwise
from daisy._task import Task
from daisy.launchers import Launcher, load
from daisy.launchers._protocol import Handle

_BLOCKS = 12


def launcher_conformance(launcher: str | Launcher, *, folder: str | Path | None = None) -> None:
    """Run small pipelines with workers of this launcher, and check what must hold.

    Args:
        launcher: A name, or an object.
        folder: Where workers leave marks; must be seen by them. A temporary folder if it is not given.

    Raises:
        AssertionError: Something does not hold.
    """
    with tempfile.TemporaryDirectory(prefix="daisy-conformance-", dir=folder) as temporary:
        place = Path(temporary)
        _check_shape(load(launcher) if isinstance(launcher, str) else launcher)
        _check_all_blocks_run_once(launcher, place)
        _check_failures_are_counted(launcher)
        _check_chains(launcher, place)
        _check_a_second_run(launcher, place)


def _check_shape(launcher: Launcher) -> None:
    assert isinstance(launcher, Launcher), (
        f"{launcher!r} lacks a member of daisy.launchers.Launcher"
    )
    assert launcher.name
    assert launcher.caps.max_batch >= 1
    unknown = Handle(launcher.name, "no such worker", "")
    # Neither may raise: the engine may have forgotten a worker that ended.
    launcher.cancel([unknown], 0.0)
    assert unknown in launcher.poll([unknown]), (
        "poll must answer for every handle it is asked about"
    )


def _check_all_blocks_run_once(launcher: str | Launcher, folder: Path) -> None:
    result = _run(launcher, _marker(folder, "once"), "once", max_workers=3)
    assert result, f"blocks were not done: {result.errors}"
    marks = sorted(path.name for path in folder.glob("once-*"))
    assert len(marks) == _BLOCKS, f"expected a mark for each of {_BLOCKS} blocks, got {marks}"
    assert result.states["once"].worker_failure_count == 0, "a worker ended badly"


def _check_failures_are_counted(launcher: str | Launcher) -> None:
    def process(block: _core.Block) -> None:
        if block.block_id[1] % 4 == 1:
            raise ValueError("meant to fail")

    state = _run(launcher, process, "fails", max_retries=1).states["fails"]
    counts = (state.completed_count, state.failed_count, state.worker_failure_count)
    assert counts == (9, 3, 0), f"expected 9 done, 3 failed, no worker lost; got {counts}"


def _check_chains(launcher: str | Launcher, folder: Path) -> None:
    first = _task(launcher, _marker(folder, "first"), "first")
    path = folder

    def process(block: _core.Block) -> None:
        if not (path / f"first-{block.block_id[1]}").exists():
            raise AssertionError("a block ran before what it reads was written")

    result = run_blockwise(
        first + _task(launcher, process, "second", max_retries=0), progress=False, summary=False
    )
    assert result, f"the chain did not run: {result.errors}"


def _check_a_second_run(launcher: str | Launcher, folder: Path) -> None:
    assert _run(launcher, _marker(folder, uuid.uuid4().hex), "again"), "a launcher serves many runs"


def _marker(folder: Path, name: str) -> Callable[[_core.Block], None]:
    def process(block: _core.Block) -> None:
        # Fails if the block was processed before.
        (folder / f"{name}-{block.block_id[1]}").touch(exist_ok=False)

    return process


def _task(
    launcher: str | Launcher,
    process: Callable[[_core.Block], None],
    name: str,
    *,
    max_workers: int = 2,
    max_retries: int = 0,
) -> Task:
    from funlib.geometry.roi import Roi  # noqa: PLC0415 - slow to import

    return Task(
        name,
        Roi((0,), (10 * _BLOCKS,)),
        Roi((0,), (10,)),
        Roi((0,), (10,)),
        process,
        read_write_conflict=False,
        max_workers=max_workers,
        max_retries=max_retries,
        launcher=launcher,
    )


def _run(
    launcher: str | Launcher,
    process: Callable[[_core.Block], None],
    name: str,
    *,
    max_workers: int = 2,
    max_retries: int = 0,
) -> RunResult:
    task = _task(launcher, process, name, max_workers=max_workers, max_retries=max_retries)
    return run_blockwise(task, progress=False, summary=False)
