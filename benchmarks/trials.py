"""What becomes of a run in trouble: the same misfortune for each package, the second table of README.

Each trial is a program of its own in an empty folder, in which blocks note that they were worked on.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from adapters.trial import BLOCKS, noted

from packages import CUBED, HERE, OURS, PEER, Package

PATIENCE_SECONDS = 120
OVERLAP = Package(
    "dask map_overlap", "dask_trial", ("dask[array]>=2024.8", "distributed>=2024.8", "zarr")
)
ADAPTERS = {
    OURS: "daisy_trial",
    PEER: "daisy_trial",
    OVERLAP: "dask_trial",
    CUBED: "cubed_trial",
}
TITLES = {
    OURS: "daisy",
    PEER: "daisy 2.0.0",
    OVERLAP: "dask `map_overlap`, `retries=2`",
    CUBED: "cubed `map_overlap`",
}


@dataclass(frozen=True)
class Ended:
    """How a program ended, and what it left in its folder."""

    folder: Path
    how: str

    @property
    def done(self) -> int:
        """How many blocks of the first step ended well, each counted once."""
        return len(set(noted(self.folder, "ended first")))


def ends_well(ended: Ended) -> str:
    """Say whether every block was done, and the program knew."""
    if ended.how == "well" and ended.done == BLOCKS:
        return "yes"
    return f"no: {ended.done} of {BLOCKS} done, {ended.how}"


def good_blocks(ended: Ended) -> str:
    """Say how many of the blocks that can be done were."""
    return f"{ended.done} of {BLOCKS - 1}"


def again(ended: Ended) -> str:
    """Say how many blocks that had been done were done a second time."""
    lines = noted(ended.folder, "ended first")
    return f"{len(lines) - len(set(lines))}" if ended.how == "well" else f"{ended.how}"


def overlap(ended: Ended) -> str:
    """Say how many blocks of the second step began while the first step was not over."""
    lines = (ended.folder / "visits").read_text().splitlines()
    last = max(n for n, line in enumerate(lines) if line.startswith("ended first"))
    early = sum(line.startswith("began second") for line in lines[:last])
    return f"{early} of {BLOCKS}" if ended.how == "well" else f"{ended.how}"


TRIALS: dict[str, tuple[str, Callable[[Ended], str]]] = {
    "raises once": ("a block raises once: the run ends well", ends_well),
    "always raises": ("a block always raises: of the other blocks are done", good_blocks),
    "worker killed": ("a worker is killed once: the run ends well", ends_well),
    "program killed": (
        f"the program is killed after {BLOCKS // 2} of {BLOCKS} blocks, and run again: "
        "done twice are",
        again,
    ),
    "two steps": ("a chain: blocks of the second step begin before the first is over", overlap),
}


def run(package: Package, environments: Path, folder: Path) -> str:
    """Run the program of ``package`` in ``folder`` to its end, and say how that was."""
    command = [str(package.interpreter(environments)), "-m", f"adapters.{ADAPTERS[package]}"]
    with (folder / "output").open("ab") as output:
        try:
            code = subprocess.run(
                command,
                cwd=folder,
                env={**os.environ, "PYTHONPATH": str(HERE)},
                stdout=output,
                stderr=output,
                timeout=PATIENCE_SECONDS,
                check=False,
            ).returncode
        except subprocess.TimeoutExpired:
            return f"it hangs ({PATIENCE_SECONDS} s)"
    return "well" if code == 0 else "it says so"


def attempt(trial: str, package: Package, environments: Path) -> str:
    """Try one misfortune on one package."""
    with tempfile.TemporaryDirectory(prefix="daisy-trial-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        (folder / "trial").write_text(trial)
        how = run(package, environments, folder)
        if trial == "program killed":
            how = run(package, environments, folder)
        answer = TRIALS[trial][1](Ended(folder, how))
        print(f"{trial:<16} {package.name:<18} {answer}", file=sys.stderr, flush=True)
        if how != "well":
            print((folder / "output").read_text()[-600:], file=sys.stderr)
        return answer


def markdown(environments: Path) -> str:
    """Try everything, and lay it out."""
    lines = [f"| | {' | '.join(TITLES.values())} |", f"|---|{'---|' * len(TITLES)}"]
    for trial, (title, _) in TRIALS.items():
        cells = [attempt(trial, package, environments) for package in TITLES]
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(lines)
