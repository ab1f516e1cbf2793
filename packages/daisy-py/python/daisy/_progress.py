"""Who hears of the progress of a run."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol, TypeAlias

from daisy.logging import logger

if TYPE_CHECKING:
    from daisy import _core

States: TypeAlias = "Mapping[str, _core.TaskState]"

_EVERY_SECONDS = 0.5
_LINE_EVERY_SECONDS = 30.0
_MOST_BARS = 20


class Observer(Protocol):
    """Hears of the progress of a run; methods that are missing are not called."""

    def on_start(self, states: States) -> None:
        """The run begins."""

    def on_progress(self, states: States) -> None:
        """Some time passed; at most twice a second."""

    def on_finish(self, states: States) -> None:
        """The run has ended."""


def seconds_left(state: _core.TaskState, elapsed: float) -> float | None:
    """How long a task will take from now on, judged by the blocks that this run did; None if it did none yet.

    Blocks that were skipped take no time, so they say nothing of those that are left.
    """
    ended = state.completed_count - state.skipped_count + state.failed_count
    left = state.total_block_count - state.completed_count - state.failed_count
    left -= state.orphaned_count
    if left <= 0:
        return 0.0
    return left * elapsed / ended if ended > 0 else None


class TerminalObserver:
    """One tqdm bar per task, in a terminal or a notebook."""

    def __init__(self) -> None:
        self._bars: dict[str, Any] = {}
        self._left_out = 0

    def on_start(self, states: States) -> None:
        """Draw the bars."""
        from tqdm.auto import tqdm  # noqa: PLC0415 - slow to import, and not needed without bars

        for position, (task_id, state) in enumerate(states.items()):
            if position >= _MOST_BARS:
                break
            self._bars[task_id] = tqdm(
                total=state.total_block_count,
                initial=state.skipped_count,
                desc=f"{task_id} ▶",
                unit="block",
                leave=True,
            )

    def on_progress(self, states: States) -> None:
        """Move the bars."""
        for task_id, bar in self._bars.items():
            state = states[task_id]
            # tqdm judges by what lies between the two: what was skipped took no time.
            bar.initial = state.skipped_count
            bar.n = state.completed_count + state.failed_count + state.orphaned_count
            bar.set_postfix_str(
                f"⧗={state.pending_count}, ▶={state.processing_count}, ✔={state.completed_count}, "
                f"✗={state.failed_count}, ∅={state.orphaned_count}",
                refresh=False,
            )
            bar.refresh()

    def on_finish(self, states: States) -> None:
        """Leave the bars as they end."""
        from daisy._summary import symbol_of  # noqa: PLC0415 - beside this module, not below it

        self.on_progress(states)
        for task_id, bar in self._bars.items():
            bar.set_description_str(f"{task_id} {symbol_of(states[task_id])}", refresh=True)
            bar.close()


class LineObserver:
    """One line per 30 seconds, for logs of batch jobs."""

    def __init__(self, every_seconds: float = _LINE_EVERY_SECONDS) -> None:
        self._every = every_seconds
        self._started = self._last = time.monotonic()

    def on_progress(self, states: States) -> None:
        """Say where each running task is, if it is time."""
        now = time.monotonic()
        if now - self._last < self._every or sys.stderr is None:
            return
        self._last = now
        running = [
            f"{task_id} {state.completed_count}/{state.total_block_count}"
            + (f" ({state.failed_count} failed)" if state.failed_count else "")
            + _show_left(seconds_left(state, now - self._started))
            for task_id, state in states.items()
            if not state.is_done()
        ]
        shown = ", ".join(running[:_MOST_BARS])
        print(f"daisy: {now - self._started:.0f} s: {shown}", file=sys.stderr, flush=True)


def _show_left(seconds: float | None) -> str:
    if seconds is None:
        return ""
    minutes = round(seconds / 60)
    return f" ({minutes} min left)" if minutes < 120 else f" ({minutes / 60:.0f} h left)"


class JsonProgressObserver:
    """Writes one JSON object per line and task: ``t``, ``event``, ``task`` and the counts.

    Args:
        path: File to append to.
        stream: Open text stream to write to; stderr if neither is given.

    Raises:
        ValueError: If both are given.

    >>> import daisy, io, json
    >>> total, cell = daisy.Roi((0,), (40,)), daisy.Roi((0,), (10,))
    >>> task = daisy.Task("copy", total, cell, cell, lambda block: None)
    >>> lines = io.StringIO()
    >>> observer = daisy.JsonProgressObserver(stream=lines)
    >>> result = daisy.run_blockwise(task, multiprocessing=False, progress=observer, summary=False)
    >>> last = json.loads(lines.getvalue().splitlines()[-1])
    >>> last["event"], last["task"], last["completed"]
    ('finish', 'copy', 4)
    """

    def __init__(self, path: str | Path | None = None, stream: IO[str] | None = None) -> None:
        if path is not None and stream is not None:
            raise ValueError("arguments 'path' and 'stream': expected at most one, got both")
        self._path = None if path is None else Path(path)
        self._stream = stream
        self._started = time.monotonic()

    def on_start(self, states: States) -> None:
        """Write ``start`` lines; a run calls it.

        Args:
            states: The state of each task by name.
        """
        self._started = time.monotonic()
        self._write("start", states)

    def on_progress(self, states: States) -> None:
        """Write ``progress`` lines; a run calls it.

        Args:
            states: The state of each task by name.
        """
        self._write("progress", states)

    def on_finish(self, states: States) -> None:
        """Write ``finish`` lines; a run calls it.

        Args:
            states: The state of each task by name.
        """
        self._write("finish", states)

    def _write(self, event: str, states: States) -> None:
        elapsed = time.monotonic() - self._started
        lines = "".join(
            json.dumps(
                {
                    "t": time.time(),
                    "event": event,
                    "task": task_id,
                    "total": state.total_block_count,
                    "ready": state.ready_count,
                    "pending": state.pending_count,
                    "processing": state.processing_count,
                    "completed": state.completed_count,
                    "skipped": state.skipped_count,
                    "failed": state.failed_count,
                    "orphaned": state.orphaned_count,
                    "restarts": state.worker_restart_count,
                    "failures": state.worker_failure_count,
                    "eta_seconds": seconds_left(state, elapsed),
                }
            )
            + "\n"
            for task_id, state in states.items()
        )
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(lines)
        else:
            stream = sys.stderr if self._stream is None else self._stream
            stream.write(lines)
            stream.flush()


JsonProgressObserver.__module__ = "daisy"


class Watch:
    """Tells an observer of a run from a thread of its own, so that it can neither slow nor break it."""

    def __init__(self, observer: object | None, snapshot: Callable[[], States]) -> None:
        self._observer = observer
        self._snapshot = snapshot
        self._stop = threading.Event()
        self._silenced: set[str] = set()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Watch:
        if self._observer is not None:
            self._thread = threading.Thread(target=self._watch, name="daisy-observer", daemon=True)
            self._thread.start()
        return self

    def end(self, states: States) -> None:
        """The states that ``on_finish`` shows: the final ones."""
        self._snapshot = lambda: states

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self._thread is not None:
            # An observer that hangs must not keep the run from returning.
            self._thread.join(timeout=2.0)

    def _watch(self) -> None:
        self._tell("on_start")
        while not self._stop.wait(_EVERY_SECONDS):
            self._tell("on_progress")
        self._tell("on_finish")

    def _tell(self, event: str) -> None:
        method = getattr(self._observer, event, None)
        if method is None:
            return
        try:
            method(self._snapshot())
        except Exception:  # noqa: BLE001 - whatever an observer does, the run goes on
            if event not in self._silenced:
                self._silenced.add(event)
                logger.warning(
                    "%s of observer %r failed; the run goes on",
                    event,
                    self._observer,
                    exc_info=True,
                )
