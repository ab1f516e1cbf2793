"""The command ``daisy``."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

from daisy._mixed import refuse_mixed_files

# Where `daisy` was installed over daisy-py, its own `__init__` did not look.
refuse_mixed_files(os.path.dirname(os.path.abspath(__file__)))

from daisy import __version__  # noqa: E402 - see above


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(
        prog="daisy",
        description="Run a function over every block of a volume that does not fit in memory.",
    )
    parser.add_argument("--version", action="version", version=f"daisy {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    commands.add_parser("demo", help="segment a human brain, block by block", add_help=False)
    commands.add_parser("report", help="make a page of what a run was like", add_help=False)
    worker = commands.add_parser(
        "worker", help="process blocks of a run that goes on, with the function at MODULE:NAME"
    )
    worker.add_argument("function", metavar="MODULE:NAME")
    worker.add_argument(
        "--context",
        metavar="FILE",
        help="what the run gave out, or a file with it; DAISY_CONTEXT if it is not given",
    )
    commands.add_parser(
        "check-network",
        help="say which addresses of a run can be reached from here",
        add_help=False,
    )
    if arguments[:1] == ["demo"]:
        # The demo has options of its own.
        return int(importlib.import_module("daisy.demo").main(arguments[1:]) or 0)
    if arguments[:1] == ["report"]:
        return int(importlib.import_module("daisy._report.command").main(arguments[1:]))
    if arguments[:1] == ["check-network"]:
        return int(importlib.import_module("daisy._check_network").main(arguments[1:]))
    options = parser.parse_args(arguments)
    return _run_worker(options.function, options.context)


def _run_worker(reference: str, text: str | None) -> int:
    from daisy._connect import connect  # noqa: PLC0415 - the demo needs none of it
    from daisy._context import Context  # noqa: PLC0415
    from daisy._errors import DaisyError  # noqa: PLC0415
    from daisy.worker import process_with  # noqa: PLC0415

    module, _, name = reference.partition(":")
    try:
        context = Context.from_env() if text is None else Context.from_file_or_text(text)
        function = getattr(importlib.import_module(module), name or "process")
        connection = connect(context, worker_id=None, owns_process=True)
    except (ImportError, AttributeError, KeyError, ValueError, OSError, DaisyError) as error:
        print(f"daisy worker: {error}", file=sys.stderr)
        return 2
    count = process_with(connection, function)
    print(f"worker {connection.worker_id} processed {count} blocks", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
