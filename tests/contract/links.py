"""Relative links in Markdown lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

from contract.repository import Repository

_LINK = re.compile(r"\[[^\]]*\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)|<img[^>]*\bsrc=\"([^\"]+)\"")


def slug(heading: str) -> str:
    """Return the anchor that GitHub and MyST give a heading."""
    plain = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def _anchors(page: Path) -> set[str]:
    text = page.read_text(encoding="utf-8")
    headings = re.findall(r"^#{1,6} (.+?)\s*#*$", text, flags=re.MULTILINE)
    return {slug(heading) for heading in headings} | set(re.findall(r"^\(([\w-]+)\)=", text, re.M))


def check_relative_links(repository: Repository) -> list[str]:
    """Return the links to files or headings that are not there."""
    faults = []
    for page in repository.pages:
        text = re.sub(r"^(`{3,}).*?^\1", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
        text = re.sub(r"`[^`\n]*`", "", text)
        for match in _LINK.finditer(text):
            link = unquote(match[1] or match[2])
            if re.match(r"[a-z]+:", link):
                continue
            name, _, anchor = link.partition("#")
            target = (page.parent / name).resolve() if name else page
            if not target.exists():
                faults.append(f"{repository.name(page)}: the link to {link} leads nowhere")
            elif anchor and target.suffix == ".md" and anchor not in _anchors(target):
                faults.append(f"{repository.name(page)}: {link} has no such heading")
    return faults
