"""Wrong input to ``daisy demo``: one line that says what was got and expected, exit code 2."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("nilearn")
pytest.importorskip("scipy")

from daisy.demo import main
from demo_runs import assert_refused, command, demo, make_input, said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--workers", "0"), ("--workers", "'0'", "at least 1")),
        (("--workers", "many"), ("--workers", "'many'")),
        (("--block-shape", "0,4,4"), ("--block-shape", "'0,4,4'")),
        (("--block-shape", "4,4"), ("--block-shape", "2 numbers", "expected 3")),
        (("--block-shape", "64,300,64"), ("larger than the volume", "(189, 233, 197)")),
        (("--sigma", "-1"), ("--sigma", "'-1'", "above 0")),
        (("--input", "nowhere.zarr"), ("--input", "no such file or folder", "nowhere.zarr")),
        (("--voxel-size", "4,4,4"), ("--voxel-size", "--input")),
        (("--launcher", "nosuch"), ("--launcher", "'nosuch'", "process, ray, sge, slurm, thread")),
        (("--threshold", "nan"), ("--threshold", "'nan'", "finite")),
        (("--threshold", "inf"), ("--threshold", "'inf'", "finite")),
        (("--threshold", "bright"), ("--threshold", "'bright'")),
        (("--depth", "3"), ("--depth",)),
    ],
)
def test_wrong_argument(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    words: tuple[str, ...],
) -> None:
    assert main(["--output", str(tmp_path / "out"), *arguments]) == 2
    error = capsys.readouterr().err
    assert len(error.splitlines()) == 1, error
    for word in words:
        assert word in error
    assert not (tmp_path / "out").exists(), "something was written"


@pytest.mark.parametrize("shape", [(30,), (4, 5, 6, 7)])
def test_wrong_rank(tmp_path: Path, shape: tuple[int, ...]) -> None:
    source = make_input(tmp_path / "line.zarr", shape)
    run = demo("--input", source, "--output", tmp_path / "out")
    assert_refused(run, f"{len(shape)} axes", "expected 2 or 3")
    assert not (tmp_path / "out").exists()


def test_wrong_kinds_of_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "text.zarr").write_text("not an array")
    (tmp_path / "empty.zarr").mkdir()
    zarr = pytest.importorskip("zarr")
    group = zarr.create_group(str(tmp_path / "group.zarr"))
    group.create_array("inside", shape=(4, 4), dtype="u1")
    zarr.create_array(str(tmp_path / "complex.zarr"), shape=(4, 4), dtype="c8")
    for name, word in {
        "text": "is not a zarr array",
        "empty": "is not a zarr array",
        "group": "Arrays inside: inside",
        "complex": "complex64",
    }.items():
        source = str(tmp_path / f"{name}.zarr")
        assert main(["--input", source, "--output", str(tmp_path / "out")]) == 2
        error = capsys.readouterr().err
        assert word in error
        assert len(error.splitlines()) == 1, error


def test_voxel_size_that_is_not_whole(tmp_path: Path) -> None:
    source = make_input(tmp_path / "volume.zarr", voxel_size=[0.5, 1, 1])
    run = demo("--input", source, "--output", tmp_path / "out")
    assert_refused(run, "--voxel-size", "0.5", "whole numbers")


def test_output_that_holds_something_foreign(tmp_path: Path) -> None:
    source = make_input(tmp_path / "volume.zarr")
    output = tmp_path / "out"
    output.mkdir()
    (output / "thesis.tex").write_text("years of work")
    for more in ((), ("--restart",)):
        run = demo("--input", source, "--output", output, *more)
        assert_refused(run, "thesis.tex", "did not make")
    assert (output / "thesis.tex").read_text() == "years of work"


def test_restart_removes_only_what_the_demo_made(tmp_path: Path) -> None:
    source = make_input(tmp_path / "volume.zarr")
    arguments = ("--input", source, "--output", tmp_path / "out", "--serial", "--block-shape", 26)
    assert demo(*arguments).returncode == 0
    (tmp_path / "out" / "thesis.tex").write_text("years of work")
    assert demo(*arguments, "--restart").returncode == 0
    assert (tmp_path / "out" / "thesis.tex").read_text() == "years of work"


def test_output_of_another_job(tmp_path: Path) -> None:
    source = make_input(tmp_path / "volume.zarr")
    arguments = ("--input", source, "--output", tmp_path / "out", "--serial")
    assert demo(*arguments, "--block-shape", 26).returncode == 0
    run = demo(*arguments, "--block-shape", 20)
    assert_refused(run, "block_shape [26, 26, 26] (now [20, 20, 20])", "--restart")


def test_output_below_a_file(tmp_path: Path) -> None:
    source = make_input(tmp_path / "volume.zarr")
    (tmp_path / "file").write_text("")
    run = demo("--input", source, "--output", tmp_path / "file" / "out")
    assert_refused(run, "--output", "cannot write")


@pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() == 0, reason="root may write where others may not"
)
def test_output_folder_without_permission(tmp_path: Path) -> None:
    source = make_input(tmp_path / "volume.zarr")
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o500)
    assert_refused(demo("--input", source, "--output", folder / "out"), "cannot write")


@pytest.mark.parametrize("size", ["256k", "640k"])
def test_small_disk(tmp_path: Path, size: str) -> None:
    """Too small from the start, and large enough to begin with; then with room, it goes on."""
    source = make_input(tmp_path / "volume.zarr")
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = f"mount -t tmpfs -o size={size} none {disk}"
    isolate = ["unshare", "--mount", "--map-root-user", "sh", "-c"]
    if shutil.which("unshare") is None or subprocess.run([*isolate, mount], check=False).returncode:
        pytest.skip("this user may not mount a file system")
    arguments = ["--input", str(source), "--output", str(disk / "out"), "--block-shape", "16,20,24"]
    full = shlex.join(command(*arguments))
    grow = f"mount -o remount,size=32m {disk}"
    for script, code in ((full, 2), (f"{full}; {grow} && {full}", 0)):
        run = subprocess.run(
            [*isolate, f"{mount} && {{ {script}; }}"],
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert run.returncode == code, said(run)
        assert "no space" in run.stderr.lower(), said(run)
        assert "Traceback" not in run.stdout + run.stderr, said(run)


def test_no_space(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    full = os.statvfs(tmp_path).f_frsize
    monkeypatch.setattr("shutil.disk_usage", lambda _path: type("Usage", (), {"free": full}))
    source = make_input(tmp_path / "volume.zarr")
    assert main(["--input", str(source), "--output", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert "no space" in error
    assert len(error.splitlines()) == 1, error
