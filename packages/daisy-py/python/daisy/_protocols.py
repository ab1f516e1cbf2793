"""Shapes of objects that users pass."""

from collections.abc import Iterable
from typing import Protocol


class RoiLike(Protocol):
    """Anything with an integer ``offset`` and ``shape``, such as ``funlib.geometry.Roi``."""

    @property
    def offset(self) -> Iterable[int]:
        """First corner, inclusive."""

    @property
    def shape(self) -> Iterable[int]:
        """Size per axis."""
