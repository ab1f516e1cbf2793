"""What is handed to users: the sdist builds anywhere, the wheel has what it should and no more."""

from __future__ import annotations

import email
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from email.message import Message
from pathlib import Path

import pytest
from dist_bench import REPOSITORY, Bench, tracked_files

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(sys.platform != "linux", reason="PATH is made of links to tools of Linux"),
]

BACKEND = REPOSITORY / "packages" / "daisy-build"

# Three times what they are, so that only a blunder (debug symbols, a data file) is caught.
WHEEL_CEILING = 6_000_000
SDIST_CEILING = 2_000_000

PYPROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))


def _run(*command: str, **variables: str) -> None:
    """Run a tool beside the tests, and show what it says if it fails."""
    ended = subprocess.run(
        [sys.executable, "-m", *command],
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """A machine with cargo, and no compiler yet."""
    return Bench(tmp_path_factory.mktemp("bench"))


@pytest.fixture(scope="module")
def sdist(bench: Bench) -> Path:
    """A source distribution, made where there is no compiler."""
    bench.build("build", "--sdist", "--outdir", str(bench.dist), str(bench.clone))
    (file,) = bench.dist.glob("*.tar.gz")
    return file


@pytest.fixture(scope="module")
def wheel(bench: Bench, sdist: Path) -> Path:
    """A wheel, built from the sdist without a network, where the compiler is not called `cc`."""
    bench.offer_gcc()
    said = bench.build("pip", "wheel", "-v", "--no-deps", "-w", str(bench.dist), str(sdist))
    assert "cargo links with gcc" in said
    (file,) = bench.dist.glob("*.whl")
    return file


@pytest.fixture(scope="module")
def sdist_files(sdist: Path) -> dict[str, bytes]:
    """The files of the sdist, without its top folder."""
    with tarfile.open(sdist) as archive:
        return dict(_members(archive))


def _members(archive: tarfile.TarFile) -> Iterator[tuple[str, bytes]]:
    for member in archive.getmembers():
        content = archive.extractfile(member)
        if content is not None:
            yield member.name.partition("/")[2], content.read()


@pytest.fixture(scope="module")
def wheel_files(wheel: Path) -> dict[str, bytes]:
    """The files of the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture(scope="module")
def metadata(wheel_files: dict[str, bytes]) -> Message:
    """The metadata of the wheel."""
    name = next(name for name in wheel_files if name.endswith(".dist-info/METADATA"))
    return email.message_from_bytes(wheel_files[name])


def _tracked(folder: str, suffix: str = "") -> set[str]:
    return {name for name in tracked_files(folder) if name.endswith(suffix)}


def test_sdist_has_all_that_a_build_needs(sdist_files: dict[str, bytes]) -> None:
    needed = {"Cargo.toml", "Cargo.lock", "LICENSE", "README.md", "pyproject.toml", "PKG-INFO"}
    needed |= _tracked("packages/daisy-build/src", ".py")
    needed |= _tracked("packages/daisy-core/src", ".rs")
    needed |= _tracked("packages/daisy-py/src", ".rs")
    needed |= _tracked("packages/daisy-py/python")

    assert needed - sdist_files.keys() == set()


def test_sdist_has_nothing_that_was_built(sdist_files: dict[str, bytes]) -> None:
    built = re.compile(r"(^|/)(target|__pycache__|\.git|\.nox|dist)/|\.(so|pyd|pyc|whl)$")

    assert [name for name in sdist_files if built.search(name)] == []


def test_sdist_asks_for_maturin_only(sdist_files: dict[str, bytes]) -> None:
    build_system = tomllib.loads(sdist_files["pyproject.toml"].decode())["build-system"]

    assert [re.split(r"[<>=!~ ]", line)[0] for line in build_system["requires"]] == ["maturin"]
    backend = f"{build_system['backend-path'][0]}/{build_system['build-backend']}/__init__.py"
    assert backend in sdist_files


def test_sdist_is_as_locked(sdist_files: dict[str, bytes]) -> None:
    assert sdist_files["Cargo.lock"] == (REPOSITORY / "Cargo.lock").read_bytes()


def test_wheel_serves_every_python(wheel: Path, wheel_files: dict[str, bytes]) -> None:
    version = tomllib.loads((REPOSITORY / "Cargo.toml").read_text(encoding="utf-8"))
    number = version["workspace"]["package"]["version"]

    assert wheel.name.startswith(f"daisy_py-{number}-cp311-abi3-")
    assert [name for name in wheel_files if name.endswith((".so", ".pyd"))] == [
        "daisy/_core.abi3.so"
    ]


def test_wheel_has_the_package_and_no_more(wheel_files: dict[str, bytes]) -> None:
    python = "packages/daisy-py/python/"
    package = {name.removeprefix(python) for name in _tracked(python)}
    package = {name for name in package if not name.endswith(".gitignore")}
    dist_info = {name for name in wheel_files if ".dist-info/" in name}

    assert set(wheel_files) - dist_info == package | {"daisy/_core.abi3.so"}


def test_wheel_is_typed_and_licensed(wheel_files: dict[str, bytes], metadata: Message) -> None:
    assert "daisy/py.typed" in wheel_files
    assert "daisy/_core.pyi" in wheel_files
    licences = [text for name, text in wheel_files.items() if name.endswith("licenses/LICENSE")]
    assert licences == [(REPOSITORY / "LICENSE").read_bytes()]
    assert metadata["License-Expression"] == "MIT"
    assert metadata["License-File"] == "LICENSE"
    assert metadata["Requires-Python"] == PYPROJECT["project"]["requires-python"]
    assert metadata["Description-Content-Type"].startswith("text/markdown")


def test_wheel_tells_nothing_of_where_it_was_built(
    wheel_files: dict[str, bytes], bench: Bench
) -> None:
    entry_points = next(v for k, v in wheel_files.items() if k.endswith("entry_points.txt"))

    assert b"daisy=daisy.__main__:main" in entry_points.replace(b" ", b"")
    assert str(bench.clone).encode() not in wheel_files["daisy/_core.abi3.so"]


def test_sizes(wheel: Path, sdist: Path) -> None:
    assert wheel.stat().st_size < WHEEL_CEILING
    assert sdist.stat().st_size < SDIST_CEILING


@pytest.mark.parametrize("name", ["dev", "examples", "docs"])
def test_extra_is_the_group_of_the_same_name(metadata: Message, name: str) -> None:
    """For pip there are extras, for uv and nox groups: one definition each, as the wheel says."""
    offered = {
        _requirement(line)
        for line in metadata.get_all("Requires-Dist", [])
        if re.search(rf"extra\s*==\s*['\"]{name}['\"]", line)
    }

    assert name in metadata.get_all("Provides-Extra", [])
    assert offered == {_requirement(line) for line in _group(name)}


def _group(name: str) -> list[str]:
    """A dependency group with the groups that it includes."""
    lines: list[str] = []
    for entry in PYPROJECT["dependency-groups"][name]:
        lines += [entry] if isinstance(entry, str) else _group(entry["include-group"])
    return lines


def _requirement(line: str) -> str:
    """A requirement without marker, as one spelling of it."""
    return re.sub(r"[-_.]+", "-", line.partition(";")[0].replace(" ", "")).lower()


def test_twine(wheel: Path, sdist: Path) -> None:
    _run("twine", "check", "--strict", str(wheel), str(sdist))


def test_check_wheel_contents(wheel: Path) -> None:
    _run("check_wheel_contents", str(wheel))


def test_abi3audit(wheel: Path) -> None:
    _run("abi3audit", "--strict", "--verbose", str(wheel))


@pytest.fixture(scope="module")
def backend_files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Wheel and sdist of daisy-build."""
    folder = tmp_path_factory.mktemp("backend")
    _run("build", "--no-isolation", "--outdir", str(folder), str(BACKEND))
    (wheel,) = folder.glob("*.whl")
    (sdist,) = folder.glob("*.tar.gz")
    return wheel, sdist


def test_daisy_build_is_a_package_of_its_own(backend_files: tuple[Path, Path]) -> None:
    wheel, sdist = backend_files
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    with tarfile.open(sdist) as archive:
        sources = {name for name, _ in _members(archive)}

    package = {file.name for file in (BACKEND / "src" / "daisy_build").iterdir() if file.is_file()}
    assert {name for name in names if ".dist-info/" not in name} == {
        f"daisy_build/{name}" for name in package
    }
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert {"LICENSE", "README.md", "src/daisy_build/py.typed", "tests/conftest.py"} <= sources
    _run("twine", "check", "--strict", str(wheel), str(sdist))
    _run("check_wheel_contents", str(wheel))
