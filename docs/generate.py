"""Write the pages that are generated from code: settings, environment variables, error kinds.

`python docs/generate.py` writes them to docs/generated/; the build of the docs does so too.
"""

from __future__ import annotations

import ast
import re
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "packages/daisy-py/python/daisy"


def _documented_constants(source: Path) -> dict[str, tuple[object, str]]:
    """Return name → (value, docstring) of the literal constants of a module that have one."""
    body = ast.parse(source.read_text(encoding="utf-8")).body
    found: dict[str, tuple[object, str]] = {}
    for node, after in pairwise(body):
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
            continue
        if not isinstance(after, ast.Expr) or not isinstance(after.value, ast.Constant):
            continue
        try:
            value = ast.literal_eval(node.value) if node.value else None
        except ValueError:
            continue
        found[node.target.id] = (value, str(after.value.value))
    return found


def _plain(docstring: str) -> str:
    """Return a docstring as one line of Markdown."""
    text = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", " ".join(docstring.split()))
    return text.replace("``", "`").replace("|", "\\|")


def environment() -> str:
    """Return the table of environment variables that daisy reads or sets."""
    rows = ["| Variable | Meaning |", "|---|---|"]
    for value, meaning in _documented_constants(PACKAGE / "_settings.py").values():
        names = value if isinstance(value, tuple) else (value,)
        if all(isinstance(name, str) and re.fullmatch(r"[A-Z][A-Z0-9_]+", name) for name in names):
            rows.append(f"| {', '.join(f'`{name}`' for name in names)} | {_plain(meaning)} |")
    return "\n".join(rows) + "\n"


def settings() -> str:
    """Return the table of the numbers that are fixed in the code."""
    rows = ["| Name | Value | Meaning |", "|---|---|---|"]
    for name, (value, meaning) in _documented_constants(PACKAGE / "_settings.py").items():
        if isinstance(value, int | float):
            rows.append(f"| `{name}` | {value:,} | {_plain(meaning)} |")
    return "\n".join(rows) + "\n"


def error_kinds() -> str:
    """Return the table of the kinds of errors of the core, from the Rust enum and its names."""
    source = (ROOT / "packages/daisy-core/src/error.rs").read_text(encoding="utf-8")
    body = re.search(r"pub enum ErrorKind \{(.*?)\n\}", source, re.S)
    if body is None:
        raise ValueError("packages/daisy-core/src/error.rs: no `pub enum ErrorKind`")
    names = dict(re.findall(r"Self::(\w+) => \"(\w+)\"", source))
    rows = ["| Kind | When |", "|---|---|"]
    for comment, variant in re.findall(r"((?:\s*///[^\n]*\n)+)\s*(\w+),", body[1]):
        meaning = " ".join(line.strip(" /") for line in comment.strip().splitlines())
        rows.append(f"| `{names[variant]}` | {_plain(meaning)} |")
    return "\n".join(rows) + "\n"


def exception_tree() -> str:
    """Return the tree of exceptions as the module that defines them draws it."""
    docstring = ast.get_docstring(ast.parse((PACKAGE / "_errors.py").read_text(encoding="utf-8")))
    lines = (docstring or "").split("::\n", 1)[-1].strip("\n").splitlines()
    indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return "```text\n" + "\n".join(line[indent:] for line in lines) + "\n```\n"


PAGES = {
    "environment.md": environment,
    "settings.md": settings,
    "error-kinds.md": error_kinds,
    "exceptions.md": exception_tree,
}


def write_pages(folder: Path) -> None:
    """Write every page into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in PAGES.items():
        (folder / name).write_text(make(), encoding="utf-8")


if __name__ == "__main__":
    write_pages(Path(__file__).parent / "generated")
