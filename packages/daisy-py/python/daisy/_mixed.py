"""Notices files of the other distribution that installs a package named ``daisy``.

Both ``daisy-py`` (this one) and ``daisy`` on the package index install into ``daisy/``. Installed over each
other, either imports files of the other, and what goes wrong then looks like anything but that.
"""

from __future__ import annotations

import os

# Files that releases of `daisy` have and `daisy-py` never had, without the ending.
_FOREIGN = frozenset(
    {
        "_daisy",
        "_runner",
        "_subprocess_worker",
        "_worker_processes",
        "block_bookkeeper",
        "messages",
        "processing_queue",
        "ready_surface",
        "task_worker_pools",
        "tcp",
    }
)
_OTHER = "daisy-"


def refuse_mixed_files(package: str) -> None:
    """Look whether ``daisy`` is installed into the folder of ``daisy-py``.

    Args:
        package: The folder of the package.

    Raises:
        ImportError: If it is; names both distributions, what was found, and the command that mends it.
    """
    foreign = sorted(name for name in os.listdir(package) if name.partition(".")[0] in _FOREIGN)
    records = _records_of_other(os.path.dirname(package))
    if not foreign and not records:
        return
    found = ", ".join([*foreign, *records])
    raise ImportError(
        f"two distributions are installed into one folder, {package}: 'daisy-py' and 'daisy', which both "
        f"have a package named daisy. Got {found} of 'daisy', expected files of 'daisy-py' alone. "
        "To mend it: python -m pip uninstall --yes daisy daisy-py && python -m pip install daisy-py",
        name="daisy",
    )


def _records_of_other(site: str) -> list[str]:
    """Metadata beside the package that says that ``daisy`` put files into it."""
    return [
        name
        for name in os.listdir(site)
        if name.startswith(_OTHER) and name.endswith(".dist-info") and _has_package(site, name)
    ]


def _has_package(site: str, name: str) -> bool:
    # Metadata alone is harmless: some install it so that the demand of another package is met.
    try:
        # Not pathlib, whose import takes longer than all else that a worker imports of daisy.
        with open(os.path.join(site, name, "RECORD"), encoding="utf-8", errors="replace") as file:
            lines = file.read()
    except OSError:
        return True  # it does not say what it installed, and `daisy` installs a package
    return any(line.startswith("daisy/__init__.py,") for line in lines.splitlines())
