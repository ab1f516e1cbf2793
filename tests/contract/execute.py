"""Run the code of a page as a reader would.

The `python` blocks of a page are one program, in order. A block that begins with `# file: NAME` is
a file beside it; `<!-- first ... -->` holds what the page takes for granted. A `console` block is
run if each of its commands is `daisy` or `python FILE`; what installs or needs a cluster is left to
`contract.names`, which looks up what it names.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from contract.repository import Fence, fences_of

PATIENCE_SECONDS = 240


@dataclass
class Program:
    """What a page asks a reader to do, in order."""

    page: Path
    lines: list[str] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    commands: list[list[str]] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to run."""
        return not self.lines and not self.commands


def read_program(page: Path) -> Program:
    """Return the program of `page`; its lines keep their numbers, as tracebacks name them."""
    program = Program(page)
    for taken in re.finditer(
        r"<!-- first\n(.*?)\n-->", page.read_text(encoding="utf-8"), re.DOTALL
    ):
        program.lines += taken[1].splitlines()
    for fence in fences_of(page):
        if fence.language == "python":
            _add_python(program, fence)
        elif fence.language == "console":
            commands = commands_of(fence)
            if all(map(may_run, commands)):
                program.commands += commands
    return program


def _add_python(program: Program, fence: Fence) -> None:
    first, _, rest = fence.text.partition("\n")
    if named := re.fullmatch(r"# file: (\S+)", first):
        program.files[named[1]] = rest + "\n"
        return
    program.lines += [""] * (fence.line - len(program.lines))
    program.lines += fence.text.splitlines()


def commands_of(fence: Fence) -> list[list[str]]:
    """Return the commands of a block, split into words."""
    lines = (line.removeprefix("$ ") for line in fence.text.splitlines())
    return [words for line in lines if (words := shlex.split(line, comments=True))]


def may_run(words: list[str]) -> bool:
    """Say whether a test may run this command as it is: it installs nothing, and needs no cluster."""
    return (words[0] == "daisy" and "check-network" not in words) or (
        words[0] == "python" and words[1].endswith(".py")
    )


def run_program(program: Program, folder: Path) -> None:
    """Run `program` in `folder`; a failure shows what it printed."""
    for name, text in program.files.items():
        (folder / name).write_text(text, encoding="utf-8")
    script = folder / f"{program.page.stem.replace('-', '_').lower()}.py"
    if program.lines:
        script.write_text("\n".join(program.lines) + "\n", encoding="utf-8")
        _run([sys.executable, "-W", "error", str(script)], folder)
    for words in program.commands:
        _run([sys.executable, *words[1:]] if words[0] == "python" else words, folder)


def _run(command: list[str], folder: Path) -> None:
    scripts = Path(sys.executable).parent
    env = os.environ | {"PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"}
    ended = subprocess.run(
        command,
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )
    if ended.returncode != 0:
        raise AssertionError(
            f"{shlex.join(command)} ended with {ended.returncode}:\n{ended.stdout}"
        )
