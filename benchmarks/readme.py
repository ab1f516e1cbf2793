"""The table of README: few cases, every package, one line each in Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from cases import CASES
from report import number

from packages import CUBED, DASK, DASK_OVERLAP, OURS, PEER, POOL

# Case, and what it is called there.
ROWS = {
    "noop-1d-w2": "blocks that do nothing, 2 workers, blocks/s",
    "scheduler-3d": "the scheduler alone, 3-D with conflicts, blocks/s",
    "memory-3d": "memory per 10⁶ blocks, 3-D with conflicts, MiB",
    "resume-1d": "a run that finds 10⁶ blocks done, s",
}
COLUMNS = {
    OURS: "daisy",
    PEER: "daisy 2.0.0",
    POOL: "`Pool`, chunks of 64",
    DASK: "dask `Client.map`",
    DASK_OVERLAP: "dask `map_overlap`",
    CUBED: "cubed `map_overlap`",
}


def markdown(records: Sequence[Mapping[str, Any]]) -> str:
    """Lay out the medians; a package that knows nothing of the kind has a dash."""
    lines = [
        f"| | {' | '.join(COLUMNS.values())} |",
        f"|---|{'---|' * len(COLUMNS)}",
    ]
    for name, title in ROWS.items():
        figure = CASES[name].figure
        cells = []
        for package in COLUMNS:
            values = [
                record[figure]
                for record in records
                if (record["case"], record["package"]) == (name, package.name) and figure in record
            ]
            cells.append(number(median(values)) if values else "–")
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(lines)
