"""Blocks of daisy 1.x."""

from daisy import Block, BlockStatus

__all__ = ["Block", "BlockStatus"]
