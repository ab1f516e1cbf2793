"""ROIs of daisy 1.x: funlib"s."""

from daisy import Roi

__all__ = ["Roi"]
