"""The server of daisy 1.x."""

from daisy import Server

__all__ = ["Server"]
