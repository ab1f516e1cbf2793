"""Observers of daisy 1.x."""

from daisy._compat import ServerObserver

__all__ = ["ServerObserver"]
