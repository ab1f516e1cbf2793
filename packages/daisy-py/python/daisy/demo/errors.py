"""What the user can put right."""

from __future__ import annotations


class BadInput(ValueError):
    """Wrong input or surroundings: shown as one line on stderr, exit code 2."""
