"""The packages compared: which adapter drives them, in which environment."""

from __future__ import annotations

import re
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Package:
    """A package under measurement.

    Attributes:
        name: Its name in tables and JSON lines.
        adapter: Module in ``adapters/`` that drives it.
        requirements: What to install in an environment of its own; nothing means that the
            interpreter that runs the benchmark has it.
    """

    name: str
    adapter: str
    requirements: tuple[str, ...] = ()

    def interpreter(self, environments: Path) -> Path:
        """The Python that has the package; makes its environment on first use."""
        if not self.requirements:
            return Path(sys.executable)
        folder = environments / re.sub(r"[^\w.]+", "-", "-".join(self.requirements))
        python = folder / "bin" / "python"
        if not (folder / "ready").exists():
            print(f"making an environment for {self.name} in {folder}", file=sys.stderr)
            venv.create(folder, with_pip=True, clear=True)
            install = [str(python), "-m", "pip", "install", "--quiet", *self.requirements]
            subprocess.run(install, check=True)
            (folder / "ready").touch()
        return python

    def command(self, environments: Path) -> list[str]:
        """The command that answers one request on its stdin."""
        return [str(self.interpreter(environments)), "-m", f"adapters.{self.adapter}"]


OURS = Package("daisy-py", "daisy_api")
PEER = Package("daisy 2.0.0", "daisy_api", ("daisy==2.0.0", "numpy", "scipy"))
POOL = Package("multiprocessing.Pool", "pool")
DASK = Package("dask.distributed", "dask_map", ("distributed>=2024.8",))
DASK_OVERLAP = Package(
    "dask map_overlap", "dask_overlap", ("dask[array]>=2024.8", "distributed>=2024.8")
)
CUBED = Package("cubed map_overlap", "cubed_overlap", ("cubed>=0.20", "tqdm"))

ALL = (OURS, PEER, POOL, DASK, DASK_OVERLAP, CUBED)
PACKAGES = {package.name: package for package in ALL}
