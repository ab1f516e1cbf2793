"""What all tests of the backend share."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

_HERE = Path(__file__).parent

# The modules beside this file are no package, and pytest's import mode is the repository's choice.
# The sources come first, so that the tests judge this tree and not an installed daisy-build.
sys.path[:0] = [str(_HERE), str(_HERE.parent / "src")]

# Plug-ins may only be named at the root of a repository, so the fixtures are imported.
from real_machine import daisy_tree, machine, wheelhouse  # noqa: E402, F401


def pytest_configure(config: pytest.Config) -> None:
    """Declare the markers used here."""
    config.addinivalue_line("markers", "slow: builds with cargo, or installs from an index")
