"""Spellings of daisy 1.x and former names of 2.0.0: each works, and says what to write instead.

Nothing of it is imported before a program uses such a spelling.
"""

from daisy._compat.names import former_name
from daisy._compat.task import apply_former_arguments, former_attribute
from daisy._compat.warn import warn_of_former

__all__ = ["apply_former_arguments", "former_attribute", "former_name", "warn_of_former"]
