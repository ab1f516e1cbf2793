"""``Freezable`` of daisy 1.x."""

from typing import Any


class Freezable:
    """A class whose instances take no new attributes once they are frozen."""

    _frozen = False

    def __setattr__(self, name: str, value: Any) -> None:
        if self._frozen and not hasattr(self, name):
            raise TypeError(f"{self!r} is frozen and has no attribute {name!r}")
        object.__setattr__(self, name, value)

    def _freeze(self) -> None:
        self._frozen = True
