"""The one warning that a former spelling gives."""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from types import FrameType

_NOT_USERS = (
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep,
    os.path.dirname(importlib.__file__) + os.sep,
    "<frozen importlib",
)


def warn_of_former(former: str, instead: str) -> None:
    """Warn that ``former`` is now ``instead``, at the line of the user that wrote it.

    That line is found by leaving daisy, however deep in it the warning is given: a former argument, attribute
    and module are noticed at different depths.
    """
    message = f"{former} is the spelling of an earlier daisy; write {instead}"
    frame = _frame_of_user()
    if frame is None:
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return
    warnings.warn_explicit(
        message,
        DeprecationWarning,
        frame.f_code.co_filename,
        frame.f_lineno,
        module=frame.f_globals.get("__name__", "__main__"),
        registry=frame.f_globals.setdefault("__warningregistry__", {}),
    )


def _frame_of_user() -> FrameType | None:
    """The innermost frame that is neither daisy's nor the import system's."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(_NOT_USERS):
            return frame
        frame = frame.f_back
    return None
