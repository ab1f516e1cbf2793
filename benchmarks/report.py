"""From records to the table of medians and ratios."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from cases import CASES, OVERHEADS, RATE, Case

from packages import OURS, PEER

Record = Mapping[str, Any]
Row = tuple[str, str, str, str, str, str, str, str]

_HEADER = ("case", "package", "median", "range", "unit", "ratio", "bar", "")
_UNITS = {
    RATE: "blocks/s",
    "seconds": "s",
    "driver_cpu_us_per_block": "µs/block",
    "mib_per_million_blocks": "MiB/10⁶",
    "rss_mib": "MiB",
    "us_per_block": "µs/block",
    "share_lost": "of the rate",
}


def table(records: Sequence[Record]) -> str:
    """Lay out every case; a ratio is how many times better daisy-py is than that package."""
    rows = [_HEADER]
    for case in CASES.values():
        mine = [record for record in records if record["case"] == case.name]
        rows.extend(_rows(case, mine))
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADER))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return "\n".join([*lines, "", *_overheads(records)])


def _overheads(records: Sequence[Record]) -> Iterator[str]:
    """One line for each pair of cases that one package did both of."""
    for overhead in OVERHEADS:
        for package in (OURS, PEER):
            rates = [
                _values(CASES[name], package.name, records)
                for name in (overhead.case, overhead.base)
            ]
            if all(rates):
                loss = 1 - median(rates[0]) / median(rates[1])
                met = "✔" if loss <= overhead.limit else "✗"
                bar = f" (≤ {overhead.limit:.0%}) {met}" if package == OURS else ""
                yield f"{package.name}, {overhead.name}: {loss:+.1%} of the rate lost{bar}"


def _values(case: Case, package: str, records: Sequence[Record]) -> list[float]:
    return [
        record[case.figure]
        for record in records
        if (record["case"], record["package"]) == (case.name, package) and case.figure in record
    ]


def _rows(case: Case, records: Sequence[Record]) -> Iterable[Row]:
    values = {package.name: _values(case, package.name, records) for package in case.packages}
    for name in dict.fromkeys(record["package"] for record in records):
        found = values[name]
        if not found:
            error = next(record["error"] for record in records if record["package"] == name)
            yield (case.name, name, "-", str(error)[:60], "", "", "", "")
            continue
        spread = f"{number(min(found))} .. {number(max(found))}"
        ratio = _ratio(case, values.get(OURS.name, []), found) if name != OURS.name else None
        bar, verdict = _verdict(case, name, ratio, median(found))
        shown = f"{ratio:.1f} ×" if ratio is not None else ""
        unit = _UNITS[case.figure]
        yield (case.name, name, number(median(found)), spread, unit, shown, bar, verdict)


def _ratio(case: Case, ours: Sequence[float], theirs: Sequence[float]) -> float | None:
    if not ours:
        return None
    if case.figure == RATE:
        return median(ours) / median(theirs)
    return median(theirs) / max(median(ours), 1e-9)


def _verdict(case: Case, name: str, ratio: float | None, value: float) -> tuple[str, str]:
    if name == PEER.name and case.bar is not None and ratio is not None:
        return f"≥ {case.bar:g} ×", "✔" if ratio >= case.bar else "✗"
    if name == OURS.name and case.limit is not None:
        return f"≤ {case.limit:g}", "✔" if value <= case.limit else "✗"
    return "", ""


def number(value: float) -> str:
    """Write a figure with three digits, or with commas."""
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"
