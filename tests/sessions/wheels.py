"""Which of several wheels fits the Python that asks."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from packaging.tags import Tag, sys_tags
from packaging.utils import parse_wheel_filename


def fitting(wheels: Iterable[Path], tags: Iterable[Tag] | None = None) -> list[Path]:
    """Return the wheels that pip would take, the best first; `tags` are those of this Python."""
    rank = {tag: place for place, tag in enumerate(sys_tags() if tags is None else tags)}
    places = {
        wheel: min(
            (rank[tag] for tag in parse_wheel_filename(wheel.name)[3] if tag in rank), default=None
        )
        for wheel in wheels
    }
    fits = {wheel: place for wheel, place in places.items() if place is not None}
    return sorted(fits, key=lambda wheel: fits[wheel])
