"""``daisy.block`` of daisy 2.0.0 and 1.x."""

from daisy._block_status import BlockStatus
from daisy._core import Block

__all__ = ["Block", "BlockStatus"]
