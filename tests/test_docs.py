"""The code in README and in the documentation runs as printed, and so do the examples."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from contract.execute import read_program, run_program
from contract.repository import HERE, Repository

REPOSITORY = Repository(HERE)
PAGES = [page for page in REPOSITORY.pages if not read_program(page).is_empty]
EXAMPLES = REPOSITORY.named(r"examples/[^/]+\.py")

pytestmark = pytest.mark.slow

# A shell that runs this in the background has it ignore Ctrl-C, and so would every program of a page.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.mark.parametrize("page", PAGES, ids=REPOSITORY.name)
def test_the_code_of_a_page_runs(page: Path, tmp_path: Path) -> None:
    run_program(read_program(page), tmp_path)


@pytest.mark.parametrize("example", EXAMPLES, ids=REPOSITORY.name)
def test_an_example_runs(example: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", str(example)]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=240, stdin=subprocess.DEVNULL)


def test_a_page_whose_code_fails_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Page\n\n```python\nx = 1\n```\n\nand\n\n```python\nassert x == 2\n```\n")
    with pytest.raises(AssertionError, match=r'page\.py", line 10'):
        run_program(read_program(page), tmp_path)


def test_the_drawings_are_what_the_script_draws(tmp_path: Path) -> None:
    code = "import draw, pathlib, sys; draw.HERE = pathlib.Path(sys.argv[1]); draw.main()"
    env = os.environ | {"PYTHONPATH": str(HERE / "docs")}
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, env=env)
    for drawn in (tmp_path / "_static").iterdir():
        assert drawn.read_text() == (HERE / "docs/_static" / drawn.name).read_text()
