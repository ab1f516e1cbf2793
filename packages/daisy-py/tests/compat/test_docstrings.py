"""What a user reads in ``help()`` is whole, and its examples run."""

from __future__ import annotations

import doctest
import os
import subprocess
import sys
from pathlib import Path

import pytest
from compat import docstrings

PUBLIC = {item.name: item for item in docstrings.public()}


@pytest.mark.parametrize("name", PUBLIC)
def test_parameters_results_and_errors_are_said(name: str) -> None:
    assert docstrings.faults(PUBLIC[name]) == []


@pytest.mark.parametrize("name", PUBLIC)
def test_there_is_an_example(name: str) -> None:
    assert docstrings.has_example(PUBLIC[name]), f"{name}: no example shows it"


@pytest.mark.parametrize("name", [name for name, item in PUBLIC.items() if item.owner is None])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_example_is_what_happens(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Not doctest.testmod: it leaves out what says that it is of another module, as all public classes do.
    monkeypatch.chdir(tmp_path)
    runner = doctest.DocTestRunner()
    for test in doctest.DocTestFinder().find(PUBLIC[name].object, name, module=False, globs={}):
        runner.run(test)
    assert runner.summarize().failed == 0


def test_every_exemption_is_of_something() -> None:
    assert set(docstrings.WITHOUT_EXAMPLE) <= set(PUBLIC)
    assert [name for name in docstrings.WITHOUT_EXAMPLE if ">>>" in PUBLIC[name].docstring] == []


def test_what_a_docstring_leaves_out_is_found() -> None:
    def function(first: int, second: int) -> int:
        """Add.

        Args:
            first: A number.
        """
        if second < 0:
            raise ValueError("negative")
        return first + second

    found = docstrings.faults(docstrings.Public("add", function))
    assert found == [
        "add: parameter 'second' is not said",
        "add: there is no Returns section",
        "add: it raises ValueError, which no Raises section says",
    ]
    assert not docstrings.has_example(docstrings.Public("add", function))


def test_help_reads_well() -> None:
    code = "import daisy; help(daisy.Task)"
    env = os.environ | {"PAGER": "cat", "TERM": "dumb"}
    text = subprocess.run(
        [sys.executable, "-c", code], env=env, check=True, capture_output=True, text=True
    ).stdout
    assert text.startswith("Help on class Task in module daisy:")
    for wanted in (
        "task_id: Name",
        "timeout: Seconds",
        "Raises:",
        ">>> task = daisy.Task(",
        "reset",
    ):
        assert wanted in text
    assert "daisy._" not in text.split("|  Methods defined here", 1)[0].split("__init__", 1)[-1]
    signatures = ("Task(", "__init__(")  # which Python writes in one line before 3.13
    lines = [line for line in text.splitlines() if not any(name in line for name in signatures)]
    assert max(map(len, lines)) <= 124
