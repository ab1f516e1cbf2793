"""Draw the diagrams of the documentation: `python docs/draw.py` writes docs/_static/*.svg.

Plain SVG from a few shapes, so that the pictures are made of the words of the code and change with
them; tests/test_docs.py fails if the files are not what this draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

HERE = Path(__file__).parent

INK, PAPER, LINE = "#1b2733", "#ffffff", "#8594a3"
RUST, PYTHON, BUILD = "#fbe6d8", "#dfeaf8", "#e6f2e1"
GOOD, BAD, PENDING = "#dcf1dd", "#f8dcdc", "#eef1f4"


def text(
    x: float, y: float, words: str, *, size: int = 13, bold: bool = False, at: str = "middle"
) -> str:
    """Return a line of text with its middle (or `start`) at `x`."""
    weight = ' font-weight="600"' if bold else ""
    place = f'x="{x}" y="{y}" font-size="{size}" text-anchor="{at}"'
    return f"<text {place}{weight}>{escape(words)}</text>"


def box(x: float, y: float, width: float, height: float, fill: str) -> str:
    """Return a rounded box."""
    return (
        f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="7" '
        f'fill="{fill}" stroke="{LINE}"/>'
    )


def arrow(points: Sequence[tuple[float, float]], *, dashed: bool = False) -> str:
    """Return a line through `points` with a head at its end."""
    path = " ".join(f"{x},{y}" for x, y in points)
    dash = ' stroke-dasharray="5 4"' if dashed else ""
    return (
        f'<polyline points="{path}" fill="none" stroke="{INK}" stroke-width="1.4"'
        f'{dash} marker-end="url(#head)"/>'
    )


def picture(width: int, height: int, title: str, parts: Sequence[str]) -> str:
    """Return a whole SVG; `title` is what a screen reader says."""
    head = (
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        f'markerHeight="7" orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="{INK}"/></marker></defs>'
    )
    start = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{escape(title)}" font-family="system-ui, sans-serif" fill="{INK}">'
    )
    paper = f'<rect width="{width}" height="{height}" rx="10" fill="{PAPER}"/>'
    return "\n".join([start, f"<title>{escape(title)}</title>", head, paper, *parts, "</svg>", ""])


def floors() -> str:
    """Return the floors of the three packages; an upper one may use a lower one."""
    python = [
        ("_compat · testing · demo", "1.x names, launcher tests, the demo"),
        ("_run", "run_blockwise, Server"),
        ("_client · launchers/ · worker", "what runs in, or starts, a worker"),
        ("logging · _progress · _summary · _functions", "what a user sees; what travels"),
        ("_task · _pipeline · _block · _context", "what the user wants"),
        ("_core", "the extension: converts and delegates"),
        ("_errors · _settings", "names and exceptions"),
    ]
    rust = [
        ("run/", "driver, server, client: effects meet decisions"),
        ("wire/ · tracking/ · stats/", "effects, side by side"),
        ("scheduler/", "a pure state machine: decisions only"),
        ("graph/", "who waits for whom; computed, never stored"),
        ("plan/", "what the user wants, validated once"),
        ("geometry/", "checked integers: coordinates, ROIs, grids"),
        ("ids · error", "newtypes, one error type"),
    ]
    parts: list[str] = []
    columns = ((20, "daisy-py (Python)", PYTHON, python), (400, "daisy-core (Rust)", RUST, rust))
    for left, title, fill, rows in columns:
        parts.append(text(left + 170, 32, title, size=16, bold=True))
        for row, (name, meaning) in enumerate(rows):
            top = 48 + row * 62
            parts += [
                box(left, top, 340, 46, fill),
                text(left + 170, top + 20, name, bold=True),
                text(left + 170, top + 37, meaning, size=12),
            ]
            if row:
                parts.append(arrow([(left + 170, top - 16), (left + 170, top - 1)]))
    parts.append(arrow([(360, 381), (380, 381), (380, 71), (399, 71)]))
    parts += [
        box(20, 494, 720, 46, BUILD),
        text(380, 514, "daisy-build", bold=True),
        text(
            380,
            531,
            "the build backend: looks for Rust and a linker, then delegates to maturin",
            size=12,
        ),
    ]
    return picture(760, 556, "The floors of daisy: arrows point down only", parts)


def block_life() -> str:
    """Return the states of a block and what moves it from one to the next."""
    states = {
        "waiting": (30, 120, PENDING),
        "ready": (220, 120, PENDING),
        "leased": (410, 120, PENDING),
        "completed": (610, 120, GOOD),
        "skipped": (220, 24, GOOD),
        "failed": (610, 216, BAD),
        "orphaned": (30, 216, BAD),
    }
    parts = []
    for name, (left, top, fill) in states.items():
        parts += [
            box(left, top, 120, 44, fill),
            text(left + 60, top + 27, name, size=15, bold=True),
        ]
    parts += [
        arrow([(150, 142), (219, 142)]),
        text(184, 132, "all it reads", size=11),
        text(184, 158, "is written", size=11),
        arrow([(340, 142), (409, 142)]),
        text(374, 132, "a worker", size=11),
        text(374, 158, "takes it", size=11),
        arrow([(530, 142), (609, 142)]),
        text(569, 132, "the function", size=11),
        text(569, 158, "returned", size=11),
        arrow([(500, 164), (500, 238), (609, 238)]),
        text(553, 254, "last attempt failed", size=11),
        arrow([(440, 164), (440, 190), (280, 190), (280, 165)], dashed=True),
        text(364, 206, "raised, timed out, worker died: another attempt", size=11),
        arrow([(90, 120), (90, 46), (219, 46)], dashed=True),
        text(150, 36, "done before, or masked", size=11),
        arrow([(90, 164), (90, 215)]),
        text(98, 194, "what it waits for failed", size=11, at="start"),
        text(
            380,
            288,
            "total = waiting + ready + leased + completed + skipped + failed + orphaned",
            size=13,
        ),
        text(380, 307, "at every moment, each block in exactly one", size=12),
    ]
    return picture(
        760, 322, "The life of a block, from waiting to completed, failed or orphaned", parts
    )


DRAWINGS = {"floors.svg": floors, "block-life.svg": block_life}


def main() -> None:
    """Write every drawing to its file."""
    folder = HERE / "_static"
    folder.mkdir(exist_ok=True)
    for name, draw in DRAWINGS.items():
        (folder / name).write_text(draw(), encoding="utf-8")


if __name__ == "__main__":
    main()
