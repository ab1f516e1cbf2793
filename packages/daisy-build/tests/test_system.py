"""Commands on the real machine: every end is an outcome, and what they see is settled."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from daisy_build.context import Outcome, Purpose
from daisy_build.system import run_command, system_context
from real_machine import write_tree


def test_program_that_cannot_be_started_is_an_outcome(tmp_path: Path) -> None:
    outcome = run_command(["no-such-program"], tmp_path, {"PATH": str(tmp_path)})

    assert outcome == Outcome(126, stderr="no-such-program: No such file or directory")


def test_program_that_hangs_is_an_outcome(tmp_path: Path) -> None:
    waiting = [sys.executable, "-c", "import threading; threading.Event().wait()"]

    outcome = run_command(waiting, tmp_path, {"PATH": ""}, patience_seconds=0.2)

    assert outcome.code == 124
    assert "no answer within" in outcome.stderr


@pytest.mark.parametrize(
    ("environ", "seen"),
    [
        ({}, "0"),
        ({"RUSTUP_AUTO_INSTALL": "1"}, "1"),
        ({"DAISY_BUILD_INSTALL_RUST": "1"}, "None"),
    ],
)
def test_rustup_downloads_only_when_asked(
    tmp_path: Path, environ: dict[str, str], seen: str
) -> None:
    write_tree(tmp_path, {"pyproject.toml": ""})
    context = system_context(Purpose.WHEEL, root=tmp_path, environ={"PATH": "", **environ})
    script = "import os; print(os.environ.get('RUSTUP_AUTO_INSTALL'))"

    assert context.run([sys.executable, "-c", script]).stdout == f"{seen}\n"


def test_question_is_asked_once(tmp_path: Path) -> None:
    write_tree(tmp_path, {"pyproject.toml": ""})
    context = system_context(Purpose.WHEEL, root=tmp_path, environ={"PATH": ""})
    script = "import pathlib; p = pathlib.Path('n'); print(p.exists()); p.touch()"

    answers = [context.run([sys.executable, "-c", script]).stdout for _ in range(2)]

    assert answers == ["False\n"] * 2
    assert context.run([sys.executable, "-c", script], {"OTHER": "1"}).stdout == "True\n"
