"""``import daisy.v1_compat as daisy``: the same as ``import daisy``."""

from typing import Any

import daisy
from daisy import *  # noqa: F403 - the same names

__all__ = daisy.__all__


def __getattr__(name: str) -> Any:
    return getattr(daisy, name)
