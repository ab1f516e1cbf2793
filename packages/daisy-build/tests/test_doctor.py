"""The doctor: what was found, and what would be done."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from daisy_build.__main__ import main
from daisy_build.doctor import describe, render_json, render_text
from daisy_build.inspection import inspect
from real_machine import write_tree
from situations import SITUATIONS


def _seen(key: str) -> dict[str, object]:
    situation = next(s for s in SITUATIONS if s.key == key)
    return describe(inspect(situation.world().context()))


@pytest.mark.parametrize(
    ("key", "would"),
    [
        ("sdist", "maturin would write a source distribution"),
        ("allowed", "maturin would build after downloading Rust"),
        (
            "only-gcc",
            "maturin would build, with CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER=gcc"
            " CC_x86_64_unknown_linux_gnu=gcc",
        ),
        (
            "nothing",
            "a build would stop with exit code 1 before maturin is called (rust, linker)",
        ),
    ],
)
def test_what_would_be_done(key: str, would: str) -> None:
    assert _seen(key)["would"] == would


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda s: s.key)
def test_json_says_what_the_text_says(situation: object) -> None:
    world = next(s for s in SITUATIONS if s is situation).world
    inspection = inspect(world().context())

    seen = json.loads(render_json(inspection))
    text = render_text(inspection)

    assert text.isascii()
    assert seen == describe(inspection)
    assert seen["ok"] == (not inspection.problems)
    for check in seen["checks"]:
        assert f"[{check['status']}] {check['name']}" in text
        assert (check["problem"] is not None) == (check["status"] == "problem")


def test_exit_code_and_streams(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_tree(
        tmp_path,
        {
            "pyproject.toml": """\
                [project]
                name = "thing"

                [[tool.daisy-build.require]]
                tool = "no-such-generator"
                """
        },
    )

    code = main(["--json", "--purpose", "wheel", str(tmp_path)])

    seen = json.loads(capsys.readouterr().out)
    assert code == 1
    assert seen["project"] == {"name": "thing", "rust_version": None, "targets": []}
    assert seen["checks"][-1]["problem"]["fix"]


def test_folder_without_a_project(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([str(tmp_path)])

    assert stopped.value.code == 2
    assert "expected a folder with a pyproject.toml" in capsys.readouterr().err
