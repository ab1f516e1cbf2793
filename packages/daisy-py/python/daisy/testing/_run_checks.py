"""What whole runs must come to with a launcher."""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable
from pathlib import Path

import daisy
from daisy.testing._actors import Actor, Recorder, wait_until
from daisy.testing._bench import LauncherBench, is_alive


class _Holding:
    """A block function that holds its worker's lock, and waits for a release that does not come."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, block: daisy.Block) -> None:
        from daisy.testing._actors import Held  # noqa: PLC0415 - in the worker

        held = Held(self._folder / f"alive-{block.block_id[1]}")
        (self._folder / f"started-{block.block_id[1]}").touch()
        release = self._folder / "release"
        try:
            wait_until(release.exists, 120)
        finally:
            held.let_go()


def check_run_completes(bench: LauncherBench) -> None:
    """Every block is processed, and nobody could see the run's secret meanwhile."""
    result = bench.run(bench.task(Recorder(bench.folder), 20))
    result.raise_for_failures()
    assert len(list(bench.folder.glob("block-*"))) == 20
    state = result.states["check"]
    assert state.completed_count == 20
    assert state.failed_count == 0
    assert not list(bench.folder.glob("logs/.daisy-run-*")), "the folder of the run is left"


def check_nothing_secret_is_visible(bench: LauncherBench) -> None:
    """Arguments of workers, which every user of a machine can read, name files and no secret."""
    bench.run(bench.task(Recorder(bench.folder), 4)).raise_for_failures()
    for path in bench.folder.glob("block-*"):
        assert "DAISY_CONTEXT=" not in path.read_text()


def check_failed_blocks_are_told(bench: LauncherBench) -> None:
    """Blocks that fail do so with their traceback; all others are done."""
    task = bench.task(Recorder(bench.folder, frozenset({3, 7})), 10, max_retries=1)
    result = bench.run(task)
    assert not result
    assert sorted(number for _, number in result.failed) == [3, 7]
    assert len(list(bench.folder.glob("block-*"))) == 8
    assert any("as it should" in group.summary for group in result.errors)


def check_over_asking_is_harmless(bench: LauncherBench) -> None:
    """More workers than there is room for wait, or are not started; the work is done."""
    task = bench.task(Recorder(bench.folder), 24, max_workers=4 * bench.workers)
    bench.run(task).raise_for_failures()


def check_workers_that_never_connect(bench: LauncherBench) -> None:
    """Workers that end without ever connecting are not started for ever."""
    result = bench.run(bench.task(Actor(bench.folder, "raise"), 3, max_workers=1))
    assert not result
    assert result.states["check"].abandoned
    reason = result.states["check"].abandon_reason or ""
    assert "never connected" in reason, reason


def check_an_interrupt_leaves_nothing(bench: LauncherBench) -> None:
    """Ctrl-C in the middle of a run ends it soon, and leaves no worker behind. For the main thread only."""
    task = bench.task(_Holding(bench.folder), 1, max_workers=1)
    started = bench.folder / "started-0"

    def interrupt() -> None:
        if wait_until(started.exists, bench.patience):
            _thread.interrupt_main()

    watcher = threading.Thread(target=interrupt, daemon=True)
    watcher.start()
    interrupt_seen: BaseException | None = None
    try:
        bench.run(task)
    except KeyboardInterrupt as error:
        interrupt_seen = error
    watcher.join()
    assert interrupt_seen is not None, "the run went on"
    assert interrupt_seen.daisy_result.cancelled  # type: ignore[attr-defined]
    lock = bench.folder / "alive-0"
    if not bench.make().caps.can_kill:
        (bench.folder / "release").touch()  # it could only be asked
    assert wait_until(lambda: not is_alive(lock), bench.patience), "the worker lives"


RUN_CHECKS: tuple[Callable[[LauncherBench], None], ...] = (
    check_run_completes,
    check_nothing_secret_is_visible,
    check_failed_blocks_are_told,
    check_over_asking_is_harmless,
    check_workers_that_never_connect,
    check_an_interrupt_leaves_nothing,
)
