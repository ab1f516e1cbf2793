"""The files of a checkout, as the checks see them."""

from __future__ import annotations

import ast
import re
import subprocess
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).resolve().parents[2]
_NOT_OURS = {".git", ".nox", ".venv", "target", "dist", "_build", "node_modules", ".hypothesis"}


@dataclass(frozen=True)
class Fence:
    """A fenced block of code in a page."""

    page: Path
    line: int
    language: str
    text: str


@dataclass(frozen=True)
class Repository:
    """A checkout at `root`; everything is read anew, nothing is imported."""

    root: Path

    @cached_property
    def files(self) -> list[Path]:
        """Every file that git knows or would take, or every file there is where git has no say."""
        if (self.root / ".git").exists():
            command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
            listed = subprocess.run(
                command, cwd=self.root, check=True, capture_output=True, text=True
            )
            found = [self.root / name for name in listed.stdout.splitlines()]
        else:
            found = [path for path in self.root.rglob("*") if not _NOT_OURS & set(path.parts)]
        return sorted(path for path in found if path.is_file())

    def named(self, pattern: str) -> list[Path]:
        """Return the files whose path from the root matches the regular expression `pattern`."""
        return [path for path in self.files if re.fullmatch(pattern, self.name(path))]

    def name(self, path: Path) -> str:
        """Return `path` as seen from the root."""
        return path.relative_to(self.root).as_posix()

    def toml(self, name: str) -> dict[str, Any]:
        """Return the content of a TOML file."""
        return tomllib.loads((self.root / name).read_text(encoding="utf-8"))

    @cached_property
    def pages(self) -> list[Path]:
        """Markdown, wherever it lies."""
        return self.named(r".*\.md")

    @cached_property
    def workflows(self) -> dict[str, dict[str, Any]]:
        """The workflows by file name. YAML reads the key `on` as true; it gets its name back."""
        found = {}
        for path in self.named(r"\.github/workflows/[^/]+\.ya?ml"):
            content = yaml.safe_load(path.read_text(encoding="utf-8"))
            content["on"] = content.pop(True, content.get("on"))
            found[path.name] = content
        return found

    @cached_property
    def sessions(self) -> set[str]:
        """The names of the nox sessions."""
        tree = ast.parse((self.root / "noxfile.py").read_text(encoding="utf-8"))
        functions = (node for node in tree.body if isinstance(node, ast.FunctionDef))
        return {
            node.name
            for node in functions
            if any("nox.session" in ast.unparse(decorator) for decorator in node.decorator_list)
        }

    @cached_property
    def fences(self) -> list[Fence]:
        """All fenced blocks of all pages."""
        return [fence for page in self.pages for fence in fences_of(page)]


def fences_of(page: Path) -> list[Fence]:
    """Return the fenced blocks of `page`, also those in a directive or indented in a list."""
    found: list[Fence] = []
    opened: tuple[str, str, int, list[str]] | None = None
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        mark = re.match(r"\s*(`{3,})\s*(\{?[\w:+-]*\}?)", line)
        if opened is None:
            if mark:
                opened = (mark[1], mark[2], number, [])
        elif mark and mark[1] == opened[0] and not line.strip().strip("`"):
            _, language, start, lines = opened
            indents = [len(text) - len(text.lstrip()) for text in lines if text.strip()]
            indent = min(indents, default=0)
            found.append(Fence(page, start, language, "\n".join(text[indent:] for text in lines)))
            opened = None
        else:
            opened[3].append(line)
    return found
