"""`python -m daisy_build`: the doctor."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from daisy_build.context import Purpose
from daisy_build.doctor import render_json, render_text
from daisy_build.inspection import inspect
from daisy_build.system import system_context

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Look at a project and this machine; 0 if a build would begin, 1 if something is missing."""
    parser = argparse.ArgumentParser(
        prog="python -m daisy_build",
        description="Show what a build from source needs, what was found, and what would be done.",
    )
    parser.add_argument(
        "project", help="folder of pyproject.toml", nargs="?", default=".", type=Path
    )
    purposes = [purpose.value for purpose in Purpose]
    parser.add_argument("--purpose", choices=purposes, default=purposes[0])
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    options = parser.parse_args(arguments)
    if not (options.project / "pyproject.toml").is_file():
        parser.error(f"got {options.project}, expected a folder with a pyproject.toml")
    # A look must not start a download, not even where a build may.
    environ = {"RUSTUP_AUTO_INSTALL": "0", **os.environ}
    context = system_context(Purpose(options.purpose), root=options.project, environ=environ)
    inspection = inspect(context)
    sys.stdout.write(render_json(inspection) if options.json else render_text(inspection))
    return 1 if inspection.problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
