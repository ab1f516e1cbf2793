"""``daisy report``: the page of a run, also of one that goes on or was killed."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from daisy._errors import DaisyError
from daisy._report import stores
from daisy._report.facts import REPORT_FILE
from daisy._report.page import to_html

_EXPECTED = (
    "expected the log folder of a run, its report.json, or a folder of tracking stores "
    "(Task(tracking_path=...), daisy.set_tracking_basedir(...))"
)


def main(argv: Sequence[str]) -> int:
    """Run the command; returns its exit code."""
    parser = argparse.ArgumentParser(
        prog="daisy report",
        description="Make a page of what a run was like; it needs no network. Of a run that goes on or was killed, the "
        "page shows what its tracking stores hold.",
    )
    parser.add_argument(
        "path",
        type=Path,
        metavar="DIR",
        help="log folder of the run, or its report.json, or a folder with tracking stores",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        help="the page, or if the name ends in .json the report as JSON; report.html beside the report, or beside "
        "the stores, if it is not given",
    )
    options = parser.parse_args(argv)
    try:
        report, beside = _read(options.path)
        if report.get("source") == "stores":
            print(stores.as_text(report))
        output = options.output or beside
        is_json = output.suffix == ".json"
        output.write_text(json.dumps(report) if is_json else to_html(report), "utf-8")
    except FileNotFoundError as error:
        print(f"daisy report: {error}; {_EXPECTED}", file=sys.stderr)
        return 1
    except (OSError, ValueError, AttributeError, ImportError, DaisyError) as error:
        print(f"daisy report: {options.path}: {error}", file=sys.stderr)
        return 1
    print(output)
    return 0


def _moment(text: object) -> datetime:
    try:
        return datetime.fromisoformat(str(text))
    except ValueError:
        return datetime.min.replace(tzinfo=UTC)


def _read(path: Path) -> tuple[dict[str, Any], Path]:
    """The report of what lies at a path, and where to put the page if nobody says."""
    if not path.exists():
        raise FileNotFoundError(f"there is nothing at {path}")
    left = path / REPORT_FILE if path.is_dir() else path
    report: Any = json.loads(left.read_text("utf-8")) if left.exists() else None
    is_note = isinstance(report, dict) and bool(report.get("unfinished"))
    page = left.with_suffix(".html")
    found = stores.find(path) if path.is_dir() else []
    if report is not None and not is_note and not found:
        return report, page
    # What a run leaves when it begins names its stores.
    noted = report["stores"].values() if is_note else []
    live = stores.build(dict.fromkeys([*map(Path, noted), *found]))
    is_whole = report is not None and not is_note
    if is_whole and (live is None or _moment(live["started"]) <= _moment(report.get("created"))):
        return report, page
    if live is not None:
        # A page in the store would be a file that is not part of it.
        return live, path.with_name(f"{path.name}.report.html") if found == [path] else page
    if report is not None:
        raise FileNotFoundError(
            f"{left} is of a run that goes on or was killed, and that had no tracking stores, so that nothing is known "
            "of its blocks"
        )
    raise FileNotFoundError(f"there is neither {REPORT_FILE} nor a tracking store in {path}")
