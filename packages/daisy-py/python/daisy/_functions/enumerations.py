"""How an enumeration that a script defines gets to a worker; dill can only name it."""

from __future__ import annotations

import enum
import pickle
import types
from typing import Any

from daisy._functions.loads import make_enum

_OF_CLASS = ("__doc__", "__module__")
_OF_COMPILER = frozenset(
    ("__firstlineno__", "__static_attributes__", "__annotate_func__", "__annotations_cache__")
)
"""What newer versions of Python note in classes; nothing that runs depends on it."""


def reduce_enum(kind: type[enum.Enum]) -> tuple[Any, ...]:
    """What pickle needs to make the enumeration anew.

    Args:
        kind: The class, defined where a worker cannot import it from.

    Returns:
        A function, its arguments, and what is set after: methods may use the class itself.

    Raises:
        pickle.PicklingError: Its members are made by code of its own, from what is not known any more.
    """
    own = vars(kind)
    for maker in ("__init__", "__new_member__"):
        if isinstance(own.get(maker), types.FunctionType | staticmethod):
            raise pickle.PicklingError(
                f"the members of {kind.__qualname__} are made by its own {maker.replace('_member', '')}"
            )
    members = [(name, member._value_) for name, member in kind.__members__.items()]
    about = {name: own[name] for name in _OF_CLASS if name in own}
    arguments = (type(kind), kind.__name__, kind.__qualname__, kind.__bases__, members, about)
    bare = vars(make_enum(*arguments))
    rest = {
        name: value
        for name, value in own.items()
        if name not in _OF_COMPILER
        and (name not in bare or (_is_method(name, value) and bare[name] is not value))
    }
    return make_enum, arguments, (None, rest)


def _is_method(name: str, value: object) -> bool:
    # Enumerations replace the one that makes members.
    return isinstance(value, types.FunctionType) and name != "__new__"
