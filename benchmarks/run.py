"""Measure daisy-py against daisy 2.0.0 and others: the same work, in turns, on one machine.

Each measurement is a process of its own. Packages take turns (A B A B …), so that a machine that
gets slower makes all of them slower. JSON lines go to a file, the table to the terminal.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import trials
from cases import CASES, Case
from readme import ROWS, markdown
from report import table

from packages import HERE, OURS, PACKAGES, Package

README_FIGURES = Path()
"""What `--table` means without a file."""


def measure(
    case: Case, package: Package, options: argparse.Namespace, folder: Path
) -> dict[str, Any]:
    """Let one package do one case once; the answer is a JSON-ready record."""
    request = case.ask(package, quick=options.quick)
    if "store" in request:
        request["store"] = str(_store(folder, package, request["store"]))
    began = time.time()
    record = {"case": case.name, "package": package.name, "at": round(began, 3), "request": request}
    try:
        answer = subprocess.run(
            package.command(options.environments),
            input=json.dumps(request) + "\n",
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(HERE)},
            capture_output=True,
            text=True,
            timeout=options.timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {**record, "error": f"no answer after {options.timeout} s"}
    lines = answer.stdout.strip().splitlines()
    if answer.returncode or not lines:
        said = answer.stderr.strip().splitlines()[-1:] or [f"exit code {answer.returncode}"]
        return {**record, "error": said[0]}
    return {**record, **json.loads(lines[-1])}


def _store(folder: Path, package: Package, name: str) -> Path:
    """Where to track: a store that is kept from round to round, or a fresh one."""
    path = folder / package.name.replace(" ", "-") / name
    if name == "fresh":
        shutil.rmtree(path, ignore_errors=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def run(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Measure all chosen cases in turns, and keep every record."""
    records = []
    with tempfile.TemporaryDirectory(prefix="daisy-bench-") as folder, options.out.open("a") as out:
        for case in (CASES[name] for name in options.cases):
            packages = [package for package in case.packages if package.name in options.packages]
            for turn in range(options.rounds):
                for package in packages:
                    record = measure(case, package, options, Path(folder))
                    records.append({**record, "round": turn})
                    print(json.dumps(records[-1]), file=out, flush=True)
                    shown = record.get("error", record.get(case.figure))
                    print(f"{case.name:<18} {package.name:<22} {shown}", file=sys.stderr)
    return records


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="benchmarks/run.py", description=__doc__)
    add = parser.add_argument
    add("cases", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)} (default: all)")
    add("--quick", action="store_true", help="less work: a few minutes, rougher figures")
    add("--rounds", type=int, default=3, help="measurements of each (%(default)s)")
    add("--packages", nargs="+", default=list(PACKAGES), choices=list(PACKAGES), metavar="NAME")
    add("--timeout", type=float, default=900, help="seconds for one measurement (%(default)s)")
    add("--out", type=Path, default=HERE / "results.jsonl", help="JSON lines (%(default)s)")
    add("--environments", type=Path, default=HERE / ".environments", help="(%(default)s)")
    add(
        "--table",
        type=Path,
        nargs="?",
        const=README_FIGURES,
        metavar="FILE",
        help="measure what README shows, and print it as Markdown; with FILE print that of an earlier --out",
    )
    add("--trials", action="store_true", help="try what becomes of runs in trouble, and print that")
    options = parser.parse_args()
    unknown = sorted(set(options.cases) - set(CASES))
    if unknown:
        parser.error(f"no such case: {', '.join(unknown)}; there are {', '.join(CASES)}")
    if options.table == README_FIGURES:
        options.cases, options.rounds = list(ROWS), 1
    options.cases = options.cases or list(CASES)
    return options


def main() -> int:
    """Measure, print the table; 1 if daisy-py could not do a case."""
    options = parse()
    if options.trials:
        print(trials.markdown(options.environments))
        return 0
    if options.table not in (None, README_FIGURES):
        records = [json.loads(line) for line in options.table.read_text().splitlines()]
    else:
        records = run(options)
    if options.table:
        print(markdown(records))
    print(table(records))
    return int(any("error" in record and record["package"] == OURS.name for record in records))


if __name__ == "__main__":
    sys.exit(main())
