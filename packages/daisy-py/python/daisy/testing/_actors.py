"""Functions that the workers of the checks run. What they say, they say through files."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import daisy

_LOOK_EVERY = 0.02


class Held:
    """Holds a lock for as long as this worker lives; whoever tries to take it knows whether it does."""

    def __init__(self, path: Path) -> None:
        import fcntl  # noqa: PLC0415 - not on Windows

        # A thread may be stopped between any two lines: what is dropped then lets go, without a word.
        self._descriptor = -1
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o666)
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)

    def let_go(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __del__(self) -> None:
        self.let_go()


def wait_until(found: Callable[[], bool], seconds: float) -> bool:
    """Look again and again whether something is so, for so long."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if found():
            return True
        time.sleep(_LOOK_EVERY)
    return found()


class Actor:
    """A function without arguments; it drives no client, so that the launcher alone is under test.

    Args:
        folder: Where it tells that it has started, and looks for ``release``.
        then: ``"return"``, ``"raise"``, or ``"hold"``: wait for ``release``.
    """

    def __init__(self, folder: Path, then: str) -> None:
        self._folder = folder
        self._then = then

    def __call__(self, *, context: daisy.Context) -> None:
        worker = context["worker_id"]
        held = Held(self._folder / f"alive-{worker}")
        try:
            (self._folder / f"started-{worker}").touch()
            if self._then == "raise":
                raise RuntimeError("the worker of the check fails, as it should")
            if self._then == "hold":
                release = self._folder / "release"
                wait_until(release.exists, 300)
        finally:
            held.let_go()


class Recorder:
    """A block function that writes down who processed which block.

    Args:
        folder: Where.
        fails: Numbers of blocks that fail.
        secret_from: File whose content must not be in what others can see of this process.
    """

    def __init__(self, folder: Path, fails: frozenset[int] = frozenset()) -> None:
        self._folder = folder
        self._fails = fails

    def __call__(self, block: daisy.Block) -> None:
        number = block.block_id[1]
        if number in self._fails:
            raise ValueError(f"block {number} fails, as it should")
        (self._folder / f"block-{number}").write_text(visible_to_others())


def visible_to_others() -> str:
    """Arguments of this process and of those above it, as any user of the machine can read them."""
    seen = []
    process = os.getpid()
    while process > 1:
        try:
            seen.append(Path(f"/proc/{process}/cmdline").read_bytes().decode(errors="replace"))
            status = Path(f"/proc/{process}/status").read_text()
        except OSError:
            break
        process = int(status.split("PPid:")[1].split()[0])
    return "\n".join(seen)
