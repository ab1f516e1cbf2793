"""``daisy report``: the page of a run that has ended."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from daisy._report.facts import REPORT_FILE
from daisy._report.page import to_html


def main(argv: Sequence[str]) -> int:
    """Run the command; returns its exit code."""
    parser = argparse.ArgumentParser(
        prog="daisy report", description="Make a page of what a run was like; it needs no network."
    )
    parser.add_argument(
        "path", type=Path, metavar="DIR", help="log folder of the run, or its report.json"
    )
    parser.add_argument(
        "-o", "--output", type=Path, help="the page; DIR/report.html if it is not given"
    )
    options = parser.parse_args(argv)
    source = options.path / REPORT_FILE if options.path.is_dir() else options.path
    output = options.output or source.with_suffix(".html")
    try:
        page = to_html(json.loads(source.read_text("utf-8")))
        output.write_text(page, "utf-8")
    except FileNotFoundError as error:
        hint = "expected the log folder of a run that has ended, or a file of RunResult.save_json()"
        print(f"daisy report: there is no file {error.filename}; {hint}", file=sys.stderr)
        return 1
    except (OSError, ValueError, AttributeError, ImportError) as error:
        print(f"daisy report: {source}: {error}", file=sys.stderr)
        return 1
    print(output)
    return 0
