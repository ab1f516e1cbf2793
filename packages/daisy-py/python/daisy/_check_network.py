"""``daisy check-network``: which addresses of a run can be reached from this machine."""

from __future__ import annotations

import argparse
import socket
import sys
from collections.abc import Sequence

from daisy import _core
from daisy._context import Context
from daisy._errors import DaisyError


def main(argv: Sequence[str]) -> int:
    """Try every address, the run's secret included; 0 if a worker could connect from here."""
    parser = argparse.ArgumentParser(
        prog="daisy check-network",
        description="Say which addresses of a run can be reached from this machine.",
    )
    parser.add_argument(
        "--context",
        metavar="FILE",
        help="what the run gave out, or a file with it; DAISY_CONTEXT if it is not given",
    )
    options = parser.parse_args(argv)
    try:
        text = options.context
        context = Context.from_env() if text is None else Context.from_file_or_text(text)
    except (KeyError, ValueError, OSError) as error:
        print(f"daisy check-network: {error}", file=sys.stderr)
        return 2
    reached = [_check(address, context.get("token_file", "")) for address in context.addresses]
    if not any(reached):
        print(f"no address of the run can be reached from {socket.gethostname()}")
        return 1
    return 0


def _check(address: str, token_file: str) -> bool:
    try:
        seconds = _core.check_address(address, token_file)
    except (DaisyError, OSError) as error:
        print(f"{address}: no: {' '.join(str(error).split())}")
        return False
    print(f"{address}: yes, the run answers and knows the token ({seconds * 1000:.0f} ms)")
    return True
