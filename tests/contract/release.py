"""May this tag be published? `python -m contract.release v3.0.0`."""

from __future__ import annotations

import sys

from contract.repository import HERE, Repository
from contract.versions import check_versions_agree, fragments, released, version


def check_release(repository: Repository, tag: str) -> list[str]:
    """Return what speaks against publishing `tag`."""
    wanted = version(repository)
    faults = check_versions_agree(repository)
    if tag != f"v{wanted}":
        faults.append(f"the tag is {tag!r}, expected 'v{wanted}' (Cargo.toml)")
    if released(repository)[:1] != [wanted]:
        faults.append(
            f"CHANGELOG.md: newest heading {released(repository)[:1]}, expected {wanted}: "
            f"run `towncrier build --version {wanted}`"
        )
    if waiting := fragments(repository):
        faults.append(f"changes/ is not empty: {', '.join(waiting)}; `towncrier build` takes them")
    return faults


if __name__ == "__main__":
    if len(sys.argv) != 2 or not sys.argv[1]:
        sys.exit("expected one tag: nox -s release_check -- v3.0.0")
    found = check_release(Repository(HERE), sys.argv[1])
    print("\n".join(found) if found else f"{sys.argv[1]} may be published")
    sys.exit(bool(found))
