"""What makes a fork of a process other than a fresh interpreter; for Linux."""

from __future__ import annotations

import gc
import os
import sys
import threading
import warnings

from daisy import _fork

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TASKS = "/proc/self/task"
_HARMLESS = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_GENERATORS = ("Generator", "RandomState", "BitGenerator")


def descriptors() -> set[tuple[str, str]]:
    """The open files: number and target of each."""
    opened = set()
    for number in os.listdir("/proc/self/fd"):
        try:
            opened.add((number, os.readlink(f"/proc/self/fd/{number}")))
        except OSError:
            continue  # that of the listing itself
    return opened


def why_not_fork() -> str:
    """Why this process cannot be forked now; empty if it can."""
    if len(os.listdir(_TASKS)) == 1:
        return ""
    # Numerical libraries end their threads when a fork begins, and start them anew where they are needed.
    if threading.active_count() == 1:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
        if len(os.listdir(_TASKS)) == 1:
            return ""
    return f"threads were started: {', '.join(_names_of_threads())}"


def _names_of_threads() -> list[str]:
    named = {thread.native_id: thread.name for thread in threading.enumerate()}
    names = []
    for task in sorted(set(os.listdir(_TASKS)) - {str(os.getpid())}):
        try:
            with open(f"{_TASKS}/{task}/comm") as file:
                comm = file.read().strip()
        except OSError:
            comm = "one that has ended"
        names.append(named.get(int(task), comm))
    return names


def why_not_shared(before: set[tuple[str, str]]) -> str:
    """Why what was loaded cannot serve several workers; empty if it can.

    Args:
        before: What ``descriptors`` returned before it was loaded.
    """
    if _fork.asked_who_it_is:
        return "a module asked for its worker's context while it was imported"
    opened = {target for _, target in descriptors() - before}.difference(_HARMLESS)
    if opened:
        return f"files were opened: {', '.join(sorted(opened))}"
    generator = _own_generator()
    return f"a random generator was made: {generator}" if generator else ""


def _own_generator() -> str:
    """A random generator that all forks would go on from in the same way.

    Those of the modules ``random`` and ``numpy.random`` are seeded anew in each worker.
    """
    random, numpy_random = sys.modules.get("random"), sys.modules.get("numpy.random")
    if random is None and numpy_random is None:
        return ""
    usual: list[Any] = [] if random is None else [random._inst]
    kinds: tuple[type, ...] = () if random is None else (random.Random,)
    if numpy_random is not None:
        usual += [numpy_random.mtrand._rand, numpy_random.mtrand._rand._bit_generator]
        kinds += tuple(getattr(numpy_random, name) for name in _GENERATORS)
    for found in gc.get_objects():
        kind = type(found)
        if not issubclass(kind, kinds) or any(found is known for known in usual):
            continue
        if random is None or not issubclass(kind, random.SystemRandom):
            return f"{kind.__module__}.{kind.__qualname__}"
    return ""
