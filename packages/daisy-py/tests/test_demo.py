"""``daisy demo`` from end to end: real workers, real files, and results judged by SciPy."""

from __future__ import annotations

import os
import signal
import subprocess
from itertools import chain, repeat
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("nilearn")
ndimage: Any = pytest.importorskip("scipy.ndimage")

from demo_runs import PASSED, array, command, demo, make_input, recorded_workers, said  # noqa: E402

BLOCKS = ("--block-shape", "16,20,24")


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    return make_input(tmp_path / "volume.zarr", voxel_size=[40, 4, 8], offset=[-400, 20, 0])


@pytest.mark.parametrize("how", [(), ("--serial",), ("--launcher", "thread")])
def test_result_is_that_of_the_whole_volume(tmp_path: Path, volume: Path, how: tuple[str]) -> None:
    output = tmp_path / "out"
    run = demo("--input", volume, "--output", output, *BLOCKS, "--workers", 2, *how)
    assert run.returncode == 0, said(run)
    assert PASSED in run.stdout
    # Judged here once more, not by the demo's own checks.
    whole = np.asarray(ndimage.gaussian_filter(_voxels(volume).astype(np.float32), 1.0))
    assert array(output, "denoised").tobytes() == whole.tobytes()
    labels = array(output, "labels")
    for component in range(1, int(labels.max()) + 1):
        assert ndimage.label(labels == component)[1] == 1
    assert (output / "demo.png").read_bytes().startswith(b"\x89PNG")


def test_images_have_two_axes(tmp_path: Path) -> None:
    image = make_input(tmp_path / "image.zarr", (90, 70))
    arguments = ("--block-shape", 32, "--sigma", 2, "--serial")
    run = demo("--input", image, "--output", tmp_path / "out", *arguments)
    assert run.returncode == 0, said(run)


def test_arrays_say_where_they_lie(tmp_path: Path, volume: Path) -> None:
    output = tmp_path / "out"
    run = demo("--input", volume, "--output", output, "--serial", *BLOCKS)
    assert run.returncode == 0, said(run)
    zarr: Any = pytest.importorskip("zarr")
    group = zarr.open_group(str(output / "volumes.zarr"), mode="r")
    assert group["labels"].attrs["voxel_size"] == [40, 4, 8]
    assert group["labels"].attrs["offset"] == [-400, 20, 0]
    images = {image["name"]: image for image in group.attrs["ome"]["multiscales"]}
    scale, translation = images["labels"]["datasets"][0]["coordinateTransformations"]
    assert scale == {"type": "scale", "scale": [40.0, 4.0, 8.0]}
    assert translation == {"type": "translation", "translation": [-400.0, 20.0, 0.0]}


def test_second_run_has_nothing_to_do_until_restarted(tmp_path: Path, volume: Path) -> None:
    arguments = ("--input", volume, "--output", tmp_path / "out", *BLOCKS)
    assert demo(*arguments).returncode == 0
    again = demo(*arguments)
    assert again.returncode == 0, said(again)
    assert "Resuming: 0 blocks to do of" in again.stdout
    assert PASSED in again.stdout
    anew = demo(*arguments, "--restart", "--serial")
    assert anew.returncode == 0, said(anew)
    assert "Resuming" not in anew.stdout


@pytest.mark.parametrize(
    ("name", "found"),
    [("denoised", "differ in 1 voxels"), ("labels", "components and those of")],
)
def test_wrong_voxel_fails_the_check(tmp_path: Path, volume: Path, name: str, found: str) -> None:
    arguments = ("--input", volume, "--output", tmp_path / "out", "--serial", *BLOCKS)
    assert demo(*arguments).returncode == 0
    zarr: Any = pytest.importorskip("zarr")
    spoilt = zarr.open_array(str(tmp_path / "out" / "volumes.zarr" / name), mode="r+")
    spoilt[7, 8, 9] = spoilt[7, 8, 9] + 1
    run = demo(*arguments)
    assert run.returncode == 1, said(run)
    assert found in run.stdout
    assert PASSED not in run.stdout


def test_missing_record_fails_the_check(tmp_path: Path, volume: Path) -> None:
    arguments = ("--input", volume, "--output", tmp_path / "out", "--serial", *BLOCKS)
    assert demo(*arguments).returncode == 0
    for record in (tmp_path / "out").glob("records/*/relabel/*.jsonl"):
        lines = record.read_text().splitlines(keepends=True)
        record.write_text("".join(lines[1:]))
    run = demo(*arguments)
    assert run.returncode == 1, said(run)
    assert "relabel: the recorded blocks are not those that tile the volume" in run.stdout


def test_killed_worker_changes_nothing_but_the_summary(tmp_path: Path) -> None:
    volume = make_input(tmp_path / "volume.zarr", (96, 96, 96))
    output = tmp_path / "out"
    # A wide Gaussian and small blocks: seconds of work, of which the worker has done one block.
    slow = ("--block-shape", 24, "--sigma", 5, "--workers", 2)
    process = subprocess.Popen(
        command("--input", volume, "--output", output, *slow),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    os.kill(_first_worker(process, output), signal.SIGKILL)
    text, _ = process.communicate(timeout=240)
    assert process.returncode == 0, text
    assert PASSED in text
    assert "1 attempts lost on the way" in text


def test_killed_driver_is_resumed(tmp_path: Path) -> None:
    volume = make_input(tmp_path / "volume.zarr", (96, 96, 96))
    slow = ("--block-shape", 24, "--sigma", 5, "--workers", 2)
    arguments = ("--input", volume, "--output", tmp_path / "out", *slow)
    process = subprocess.Popen(
        command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    _first_worker(process, tmp_path / "out")
    process.kill()
    process.communicate(timeout=60)
    run = demo(*arguments)
    assert run.returncode == 0, said(run)
    assert "Resuming" in run.stdout
    assert PASSED in run.stdout


def test_brain(tmp_path: Path) -> None:
    run = demo("--output", tmp_path / "out", "--block-shape", "95,117,99", "--workers", 2)
    assert run.returncode == 0, said(run)
    assert "8,675,289 voxels" in run.stdout
    assert "are the same 25" in run.stdout
    assert array(tmp_path / "out", "t1").shape == (189, 233, 197)


def _voxels(path: Path) -> npt.NDArray[Any]:
    zarr: Any = pytest.importorskip("zarr")
    return np.asarray(zarr.open_array(str(path), mode="r")[...])


def _first_worker(process: subprocess.Popen[str], output: Path) -> int:
    """Wait for the first finished block; which worker it was."""
    with DefaultSelector() as selector:
        assert process.stdout is not None
        selector.register(process.stdout, EVENT_READ)
        for _ in repeat(None):
            worker = next(chain(recorded_workers(output, "denoise")), None)
            if worker is not None:
                return worker
            assert process.poll() is None, process.stdout.read()
            selector.select(timeout=0.01)
    raise AssertionError
