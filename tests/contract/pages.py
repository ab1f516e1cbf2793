"""Is GitHub Pages set to take what docs.yml deploys? `python -m contract.pages pages.json`."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path


def check_pages(reply: str, repository: str) -> list[str]:
    """Return what is wrong in GitHub's `reply` about Pages, and the command that mends it."""
    try:
        settings = json.loads(reply)
    except json.JSONDecodeError:
        settings = {}
    got = settings.get("build_type")
    if got == "workflow":
        return []
    method = "PUT" if got else "POST"
    state = f"builds from {got!r}" if got else "is off, or its settings could not be read"
    return [
        f"GitHub Pages of {repository} {state}, expected 'workflow': nothing would be published",
        f"as an admin: gh api -X {method} repos/{repository}/pages -f build_type=workflow",
    ]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("expected the file with GitHub's reply: nox -s pages_check -- pages.json")
    name = os.environ.get("GITHUB_REPOSITORY", "OWNER/REPOSITORY")
    found = check_pages(Path(sys.argv[1]).read_text(encoding="utf-8"), name)
    print("\n".join(found) or "GitHub Pages takes what the workflow deploys")
    sys.exit(bool(found))
