"""``daisy.dependency_graph`` of daisy 1.x."""

from daisy import BlockwiseDependencyGraph, DependencyGraph
from daisy._compat.warn import warn_of_former

__all__ = ["BlockwiseDependencyGraph", "DependencyGraph"]

warn_of_former("the module daisy.dependency_graph", "daisy.DependencyGraph")
