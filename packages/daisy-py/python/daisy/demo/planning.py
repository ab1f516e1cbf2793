"""From options to a job: the input opened, every choice made, nothing written yet."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import zarr

from daisy.demo import source, template
from daisy.demo.arguments import Options
from daisy.demo.arrays import create
from daisy.demo.errors import BadInput
from daisy.demo.job import Job
from daisy.demo.world import Ints, World

_BLOCK_EDGE = {2: 256, 3: 48}
_TEMPLATE_NAME = "t1"


@dataclass(frozen=True)
class Plan:
    """A job, and the voxels to store before it starts.

    Attributes:
        job: What to do.
        title: The input, in words.
        voxels: The template; ``None`` where the input is a zarr array already.
    """

    job: Job
    title: str
    voxels: npt.NDArray[Any] | None


def plan(options: Options) -> Plan:
    """Open the input and decide everything.

    Raises:
        BadInput: The input does not exist, is no volume, or does not go with the options.
    """
    return (
        _plan_template(options) if options.input is None else _plan_source(options.input, options)
    )


def store(plan: Plan) -> None:
    """Create the arrays of a job, and write the template if it is the input."""
    job = plan.job
    if plan.voxels is not None and not Path(job.source).exists():
        group = zarr.open_group(str(job.volumes), mode="a")
        # Under another name first: a killed demo leaves no half template that looks whole.
        template.write(group, f"{_TEMPLATE_NAME}.part", plan.voxels, job.world)
        Path(f"{job.source}.part").rename(job.source)
    create(job, "denoised", job.dtype)
    create(job, "fragments", "uint64")
    create(job, "labels", "uint32")


def _plan_template(options: Options) -> Plan:
    if options.voxel_size is not None:
        raise BadInput("--voxel-size goes with --input only; the brain has its own")
    voxels, world = template.read()
    threshold = template.THRESHOLD if options.threshold is None else options.threshold
    path = Path(options.output).absolute() / "volumes.zarr" / _TEMPLATE_NAME
    job = _job(options, str(path), world, voxels.dtype, threshold)
    return Plan(job, "T1 template of a human brain (MNI152, 1 mm)", voxels)


def _plan_source(path: str, options: Options) -> Plan:
    array = source.open_source(path)
    world = source.place(array, _for_rank("--voxel-size", options.voxel_size, array.ndim))
    threshold = source.otsu(array) if options.threshold is None else options.threshold
    job = _job(options, str(Path(path).absolute()), world, array.dtype, threshold)
    return Plan(job, path, None)


def _job(options: Options, path: str, world: World, dtype: np.dtype[Any], threshold: float) -> Job:
    return Job(
        output=str(Path(options.output).absolute()),
        source=path,
        world=world,
        block_shape=_block_shape(options.block_shape, world.shape),
        sigma=options.sigma,
        threshold=threshold,
        # float32 holds 8- and 16-bit voxels exactly, float64 all others that occur.
        dtype=str(np.result_type(dtype, np.float32)),
    )


def _block_shape(asked: Ints | None, shape: Ints) -> Ints:
    if asked is None:
        return tuple(min(_BLOCK_EDGE[len(shape)], size) for size in shape)
    blocks = _for_rank("--block-shape", asked, len(shape)) or ()
    if any(block > size for block, size in zip(blocks, shape, strict=True)):
        raise BadInput(
            f"--block-shape: got {blocks}, larger than the volume; expected at most {shape}"
        )
    return blocks


def _for_rank(option: str, values: Ints | None, rank: int) -> Ints | None:
    if values is None or len(values) == rank:
        return values
    if len(values) == 1:
        return values * rank
    raise BadInput(f"{option}: got {len(values)} numbers; expected {rank}, one for each axis")
