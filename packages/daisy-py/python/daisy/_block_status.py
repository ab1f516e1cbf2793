"""The states of a block as users see them."""

from enum import IntEnum


class BlockStatus(IntEnum):
    """How a block stands. An integer as in daisy 2.0.0, and an enum as in 1.x.

    >>> import daisy
    >>> daisy.BlockStatus.SUCCESS == 2, daisy.BlockStatus.SUCCESS.name
    (True, 'SUCCESS')
    """

    CREATED = 0
    PROCESSING = 1
    SUCCESS = 2
    FAILED = 3


BlockStatus.__module__ = "daisy"
