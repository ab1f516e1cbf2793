"""What third parties test their own parts of daisy with.

A launcher is conformant if every function in ``LAUNCHER_CHECKS`` returns for it. With pytest::

    import pytest
    from daisy.testing import LAUNCHER_CHECKS, LauncherBench

    @pytest.mark.parametrize("check", LAUNCHER_CHECKS, ids=lambda check: check.__name__)
    def test_launcher(check, tmp_path):
        check(LauncherBench(MyLauncher, tmp_path))

Or all at once: ``launcher_conformance(MyLauncher())``.
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

from daisy.launchers import Launcher, load
from daisy.testing._bench import LauncherBench
from daisy.testing._run_checks import RUN_CHECKS
from daisy.testing._worker_checks import WORKER_CHECKS

LAUNCHER_CHECKS = (*WORKER_CHECKS, *RUN_CHECKS)
"""Every check of a launcher; each takes a :class:`LauncherBench`, and raises AssertionError."""

__all__ = ["LAUNCHER_CHECKS", "LauncherBench", "launcher_conformance"]


def launcher_conformance(launcher: str | Launcher, *, folder: str | Path | None = None) -> None:
    """Run every check on a launcher that is given by name, or as an object that may be opened again.

    Args:
        launcher: Name or object.
        folder: Where workers and this process see the same files; the system's for temporary files if not given.

    Raises:
        AssertionError: With what the launcher does wrong.
    """
    for check in LAUNCHER_CHECKS:
        with tempfile.TemporaryDirectory(prefix="daisy-conformance-", dir=folder) as temporary:
            check(LauncherBench(partial(_made, launcher), Path(temporary)))


def _made(launcher: str | Launcher) -> Launcher:
    return load(launcher) if isinstance(launcher, str) else launcher
