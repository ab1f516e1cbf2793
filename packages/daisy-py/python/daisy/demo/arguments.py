"""The command line of ``daisy demo``."""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from daisy.demo.errors import BadInput
from daisy.demo.world import Ints


@dataclass(frozen=True)
class Options:
    """What the user asked for; ``None`` means: choose what fits the input."""

    input: str | None
    output: str
    workers: int
    block_shape: Ints | None
    voxel_size: Ints | None
    sigma: float
    threshold: float | None
    launcher: str
    serial: bool
    restart: bool


class _OneLineParser(argparse.ArgumentParser):
    """Reports a wrong argument as every other wrong input: in one line."""

    def error(self, message: str) -> NoReturn:
        raise BadInput(message)


def parse(arguments: Sequence[str] | None) -> Options:
    """Turn the command line into options.

    Raises:
        BadInput: An argument is wrong.
    """
    return Options(**vars(_parser().parse_args(arguments)))


def _parser() -> argparse.ArgumentParser:
    parser = _OneLineParser(
        prog="daisy demo",
        description="Segment a human brain block by block, and check the result voxel by voxel.",
    )
    add = parser.add_argument
    add("--input", metavar="ZARR", help="a 2-D or 3-D zarr array of your own (default: a brain)")
    add("--output", metavar="DIR", default="daisy-demo", help="where results go (%(default)s)")
    add("--workers", type=_positive, default=_cores(), help="workers a stage (%(default)s)")
    add("--block-shape", type=_shape, metavar="N,N,N", help="voxels of a block (48 an axis)")
    add("--voxel-size", type=_shape, metavar="N,N,N", help="of --input, in whole world units")
    add("--sigma", type=_width, default=1.0, help="of the Gaussian, in voxels (%(default)s)")
    add("--threshold", type=_finite, help="brighter is foreground (--input: Otsu's)")
    add("--launcher", default="process", metavar="NAME", help="how workers start (%(default)s)")
    add("--serial", action="store_true", help="all blocks in this process, one after another")
    add("--restart", action="store_true", help="forget what an earlier run did")
    return parser


def _cores() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _positive(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"got {text!r}; expected a whole number of at least 1")
    return number


def _width(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 < number <= 100:
        raise argparse.ArgumentTypeError(f"got {text!r}; expected a number above 0, at most 100")
    return number


def _finite(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise argparse.ArgumentTypeError(f"got {text!r}; expected a number that is finite")
    return number


def _shape(text: str) -> Ints:
    """``64`` or ``64,64,64`` or ``64x64x64``; a single number stands for every axis."""
    parts = text.replace("x", ",").split(",")
    if not all(part.strip().isdecimal() and int(part) > 0 for part in parts):
        raise argparse.ArgumentTypeError(
            f"got {text!r}; expected whole numbers of at least 1, such as 64,64,64"
        )
    return tuple(int(part) for part in parts)
