"""What stands between a hook and maturin: nothing passes while something is missing."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

from daisy_build.context import Purpose
from daisy_build.inspection import inspect
from daisy_build.report import render_notes, render_problems
from daisy_build.system import system_context

__all__ = ["ensure_buildable"]


def ensure_buildable(purpose: Purpose, config_settings: Mapping[str, Any] | None) -> None:
    """Check the machine, and settle the variables that maturin and cargo will see.

    Raises:
        SystemExit: Something is missing, and has been said on standard error.
    """
    inspection = inspect(system_context(purpose, config_settings))
    if inspection.problems:
        # An exception would reach the user as a traceback of the frontend.
        sys.stderr.write(render_problems(inspection))
        sys.stderr.flush()
        raise SystemExit(1)
    sys.stderr.write(render_notes(inspection))
    os.environ.update(inspection.context.exports)
    if not inspection.context.may_install_rust:
        # maturin would download a toolchain where there is no cargo: the user's decision, not ours.
        os.environ["MATURIN_NO_INSTALL_RUST"] = "1"
    # maturin warns when `build-backend` is not maturin itself; here that is on purpose.
    os.environ["MATURIN_NO_MISSING_BUILD_BACKEND_WARNING"] = "1"
