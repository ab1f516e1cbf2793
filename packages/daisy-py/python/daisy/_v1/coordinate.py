"""Coordinates of daisy 1.x: funlib"s."""

from daisy import Coordinate

__all__ = ["Coordinate"]
