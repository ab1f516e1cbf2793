"""What the page about moving to this daisy shows is what happens."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[4] / "docs/how-to/migrate.md"
FENCES = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL) if PAGE.exists() else []


@pytest.mark.skipif(not FENCES, reason="tests run away from the repository")
@pytest.mark.parametrize("program", FENCES)
def test_programs_of_the_page(tmp_path: Path, program: str) -> None:
    script = tmp_path / "program.py"
    script.write_text(program)
    subprocess.run([sys.executable, str(script)], cwd=tmp_path, check=True, capture_output=True)
