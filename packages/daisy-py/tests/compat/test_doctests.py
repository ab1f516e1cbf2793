"""The examples in docstrings are what happens."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import warnings

import daisy
import pytest

SKIPPED = ("daisy.demo", "daisy.__main__")
NAMES = [
    module.name
    for module in pkgutil.walk_packages(daisy.__path__, "daisy.")
    if not module.name.startswith(SKIPPED)
]


@pytest.mark.parametrize("name", NAMES)
def test_examples(name: str) -> None:
    with warnings.catch_warnings():
        # Modules of daisy 1.x say so when they are imported.
        warnings.simplefilter("ignore", DeprecationWarning)
        module = importlib.import_module(name)
    assert doctest.testmod(module).failed == 0
