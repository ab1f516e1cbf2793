"""``daisy demo``: a human brain, segmented block by block, that checks its own result.

The packages it needs beyond daisy itself are the ``demo`` extra: ``pip install "daisy-py[demo]"``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec

__all__ = ["main"]

_PACKAGES = ("matplotlib", "nibabel", "nilearn", "numpy", "scipy", "zarr")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo and return its exit code.

    Args:
        arguments: What follows ``daisy demo`` on the command line; ``None`` takes ``sys.argv[1:]``.

    Returns:
        0 if every check passed, 1 if one failed, 2 for wrong input, 130 after Ctrl-C.
    """
    missing = [name for name in _PACKAGES if find_spec(name) is None]
    if missing:
        needed = ", ".join(missing)
        print(
            f'daisy demo: needs {needed}; install with: pip install "daisy-py[demo]"',
            file=sys.stderr,
        )
        return 2
    # Here and not above: the package must import where the demo extra is not installed.
    from daisy.demo.cli import run  # noqa: PLC0415

    return run(arguments)
