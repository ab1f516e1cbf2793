"""What the repository says about itself is true, and each check finds the fault it is there for."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from contract import blocks, imports, links, names, steps, versions, workflows
from contract.pages import check_pages
from contract.release import check_release
from contract.repository import HERE, Repository

Check = Callable[[Repository], list[str]]
MODULES = (blocks, imports, links, names, steps, versions, workflows)
CHECKS: dict[str, Check] = {
    name.removeprefix("check_"): value
    for module in MODULES
    for name, value in vars(module).items()
    if name.startswith("check_") and value.__module__ == module.__name__
}


@pytest.mark.parametrize("name", CHECKS)
def test_this_repository_keeps_its_word(name: str) -> None:
    assert CHECKS[name](Repository(HERE)) == []


@dataclass(frozen=True)
class Plant:
    """A fault: in `file`, `old` becomes `new` (without `old`, `new` is the whole file)."""

    check: str
    file: str
    old: str
    new: str
    found: str


PLANTS = [
    Plant("sessions", ".github/workflows/docs.yml", "nox -s docs", "nox -s dokcs", "'dokcs'"),
    Plant("sessions", "README.md", "nox -s demo", "nox -s dmeo", "'dmeo'"),
    Plant("sessions", "noxfile.py", "def tests(", "def test(", "'tests'"),
    Plant("groups_and_extras", "docs/extra.md", "", "uv run --group doc x", "'doc'"),
    Plant("groups_and_extras", "docs/extra.md", "", "pip install 'daisy-py[dmeo]'", "'dmeo'"),
    Plant("groups_and_extras", "docs/extra.md", "", "uv sync --extra exampels", "'exampels'"),
    Plant(
        "extras_equal_groups",
        "pyproject.toml",
        'docs = [\n    "dask',
        'docs = [\n    "xdask',
        "xdask",
    ),
    Plant("console_commands", "docs/extra.md", "", "```console\ndaisi demo\n```", "'daisi'"),
    Plant("console_commands", "docs/extra.md", "", "```console\ndaisy demmo\n```", "'demmo'"),
    Plant("console_commands", "docs/extra.md", "", "```sh\ndaisy demo --wrkrs 2\n```", "'--wrkrs'"),
    Plant("relative_links", "docs/extra.md", "", "[gone](gone.md)", "gone.md leads nowhere"),
    Plant("relative_links", "docs/extra.md", "", "[x](extra.md#no)\n# Yes", "no such heading"),
    Plant("needs", ".github/workflows/publish.yml", "needs: check", "needs: chekc", "'chekc'"),
    Plant("needs", ".github/workflows/tests.yml", ", two-hosts]", "]", "'two-hosts'"),
    Plant(
        "reusable_workflows", ".github/workflows/publish.yml", "wheels.yml", "weels.yml", "weels"
    ),
    Plant(
        "reusable_workflows",
        ".github/workflows/publish.yml",
        "workflows/wheels.yml\n",
        "workflows/wheels.yml\n    with:\n      fast: true\n",
        "no input 'fast'",
    ),
    Plant(
        "artifacts",
        ".github/workflows/wheels.yml",
        "name: dist-daisy-build",
        "name: dist",
        "dist-daisy-build",
    ),
    Plant("artifacts", ".github/workflows/publish.yml", "dist-daisy-py-*", "dsit-*", "dsit-*"),
    Plant("only_nox_is_called", ".github/workflows/lint.yml", "nox -s lint", "ruff check", "ruff"),
    Plant(
        "pins",
        ".github/workflows/lint.yml",
        "@3d3c42e5aac5ba805825da76410c181273ba90b1",
        "@v7",
        "'v7'",
    ),
    Plant(
        "publish_waits_for_the_tests",
        ".github/workflows/publish.yml",
        "needs: wheels",
        "needs: check",
        "wheels",
    ),
    Plant(
        "publish_waits_for_the_tests",
        ".github/workflows/publish.yml",
        "nox -s release_check",
        "nox -s lint",
        "release_check",
    ),
    Plant(
        "minimum_rust",
        ".github/workflows/tests.yml",
        'toolchain: "1.88"',
        'toolchain: "1.70"',
        "1.70",
    ),
    Plant("steps_are_run_here", ".ci/run", "step 'nox -s demo'", "", "nox -s demo"),
    Plant("code_blocks_are_run", "docs/extra.md", "", "```sh\nmake all\n```", "`make all`"),
    Plant("code_blocks_are_run", "docs/extra.md", "", "```json\n{1}\n```", "not json"),
    Plant("code_blocks_are_run", "docs/extra.md", "", "```py\nx = 1\n```", "`py` blocks"),
    Plant("code_blocks_are_run", "docs/extra.md", "", "```\nx = 1\n```", "language ''"),
    Plant("code_blocks_are_run", "docs/index.md", "", "```{note}\n```\n```c\n1\n```", "'c'"),
    Plant("imports", "tests/extra.py", "", "import funlib.show.neuroglancer, zap", "imports zap"),
    Plant(
        "imports", "packages/daisy-py/python/daisy/extra.py", "", "import scipy", "imports scipy"
    ),
    Plant("imports", "packages/daisy-py/tests/extra.py", "", "pytest.importorskip('dask')", "dask"),
    Plant("imports", "tools/extra.py", "", "import os", "no rule"),
    Plant("imports_of_pages", "docs/extra.md", "", "```python\nimport torch\n```", "imports torch"),
    Plant("versions_agree", "CITATION.cff", "\nversion: ", "\nversion: 9", "CITATION.cff"),
    Plant("versions_agree", "Cargo.toml", '\nversion = "', '\nversion = "9', "daisy-build"),
    Plant("changelog", "changes/oops.md", "", "text", "changes/oops.md"),
]


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout in which a test may plant what it likes, and mends it after."""
    root = tmp_path_factory.mktemp("copy")
    repository = Repository(HERE)
    for path in repository.files:
        target = root / repository.name(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    return root


@pytest.fixture
def edit(copy: Path) -> Iterator[Callable[[str, str, str], Repository]]:
    """Change a file of the copy for the time of one test."""
    undo: list[tuple[Path, str | None]] = []

    def change(name: str, old: str, new: str) -> Repository:
        path = copy / name
        before = path.read_text(encoding="utf-8") if path.exists() else None
        undo.append((path, before))
        path.parent.mkdir(parents=True, exist_ok=True)
        if old:
            assert before is not None
            assert old in before, f"{name} does not hold {old!r}: plant another fault"
            new = before.replace(old, new, 1)
        path.write_text(new, encoding="utf-8")
        return Repository(copy)

    yield change
    for path, before in reversed(undo):
        if before is None:
            path.unlink()
        else:
            path.write_text(before, encoding="utf-8")


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: f"{plant.check}:{plant.found}")
def test_a_planted_fault_is_found(
    plant: Plant, edit: Callable[[str, str, str], Repository]
) -> None:
    faults = CHECKS[plant.check](edit(plant.file, plant.old, plant.new))
    assert any(plant.found in fault for fault in faults), faults


def test_every_check_has_a_planted_fault() -> None:
    assert {plant.check for plant in PLANTS} == set(CHECKS)


@pytest.mark.skipif(sys.platform == "win32", reason="the gate runs in bash on Linux")
@pytest.mark.parametrize(
    ("results", "passes"), [("success success", True), ("success skipped", False)]
)
def test_the_gate_passes_only_if_every_job_succeeded(results: str, passes: bool) -> None:
    (step,) = Repository(HERE).workflows["tests.yml"]["jobs"]["all-green"]["steps"]
    ended = subprocess.run(["bash", "-ec", step["run"]], env={"RESULTS": results}, check=False)
    assert (ended.returncode == 0) == passes


def _ready(copy: Path, edit: Callable[[str, str, str], Repository]) -> str:
    """Make of the copy what may be released, and return its version."""
    version = versions.version(Repository(copy))
    edit("CHANGELOG.md", "", f"# Changelog\n\n## {version} (2026-11-30)\n")
    return version


def test_a_release_needs_tag_changelog_and_no_fragments(
    copy: Path, edit: Callable[[str, str, str], Repository]
) -> None:
    version = _ready(copy, edit)
    waiting = versions.fragments(Repository(copy))
    faults = check_release(Repository(copy), f"v{version}")
    assert faults == [fault for fault in faults if "changes/" in fault]
    assert bool(faults) == bool(waiting)
    assert any("the tag is 'v9'" in fault for fault in check_release(Repository(copy), "v9"))
    repository = edit("CHANGELOG.md", "", "# Changelog\n\n## 0.1.0 (2020-01-01)\n")
    assert any("newest heading" in fault for fault in check_release(repository, f"v{version}"))
    repository = edit("changes/8.feature.md", "", "text")
    assert any("changes/" in fault for fault in check_release(repository, f"v{version}"))


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ('{"build_type": "workflow"}', None),
        ('{"build_type": "legacy"}', "gh api -X PUT repos/o/r/pages -f build_type=workflow"),
        ('{"message": "Not Found", "status": "404"}', "gh api -X POST repos/o/r/pages"),
        ("", "gh api -X POST"),
    ],
)
def test_wrong_pages_settings_are_told_with_their_fix(reply: str, told: str | None) -> None:
    faults = check_pages(reply, "o/r")
    assert bool(faults) == (told is not None)
    if told:
        assert told in faults[-1]
