"""What is read from the project's files, its settings and the machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from daisy_build.arguments import MaturinArguments, read_arguments
from daisy_build.manifest import parse_version, required_rust
from daisy_build.platforms import Platform, read_os_ids
from daisy_build.project import read_project
from daisy_build.requirements import Requirement, SettingsError, read_requirements
from real_machine import write_tree

_WORKSPACE = '[workspace.package]\nrust-version = "1.88"\nedition = "2024"\n'
_INHERITED = '[package]\nname = "inner"\nrust-version.workspace = true\n'


@pytest.mark.parametrize(
    ("files", "text", "source"),
    [
        (
            {"Cargo.toml": '[package]\nrust-version = "1.70"\nedition = "2021"\n'},
            "1.70",
            'rust-version = "1.70" in Cargo.toml',
        ),
        ({"Cargo.toml": '[package]\nedition = "2024"\n'}, "1.85", 'edition = "2024" in Cargo.toml'),
        (
            {"Cargo.toml": _WORKSPACE + _INHERITED},
            "1.88",
            'rust-version = "1.88" in Cargo.toml',
        ),
        (
            {"Cargo.toml": _WORKSPACE + "[package]\nedition = { workspace = true }\n"},
            "1.85",
            'edition = "2024" in Cargo.toml',
        ),
    ],
)
def test_rust_version_of_one_manifest(
    tmp_path: Path, files: dict[str, str], text: str, source: str
) -> None:
    write_tree(tmp_path, files)

    required = required_rust(tmp_path / "Cargo.toml", tmp_path)

    assert required is not None
    assert (required.text, required.source) == (text, source)


@pytest.mark.parametrize("key", ["", 'workspace = "../.."\n'], ids=["above", "named"])
def test_rust_version_of_a_workspace(tmp_path: Path, key: str) -> None:
    write_tree(tmp_path, {"Cargo.toml": _WORKSPACE, "packages/inner/Cargo.toml": _INHERITED + key})

    required = required_rust(tmp_path / "packages/inner/Cargo.toml", tmp_path)

    assert required is not None
    assert required.version == (1, 88, 0)
    assert required.source == 'rust-version = "1.88" in Cargo.toml'


@pytest.mark.parametrize("text", ["[package", "[package]\nname = 'x'\n", "package = 1\n"])
def test_manifest_that_says_nothing(tmp_path: Path, text: str) -> None:
    write_tree(tmp_path, {"Cargo.toml": text})

    assert required_rust(tmp_path / "Cargo.toml", tmp_path) is None
    assert required_rust(tmp_path / "none" / "Cargo.toml", tmp_path) is None


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("rustc 1.95.0 (59807616e 2026-04-14)", (1, 95, 0)),
        ("rustc 1.97.0-nightly", (1, 97, 0)),
        ("cmake version 3.20", (3, 20, 0)),
        ("libprotoc 29", (29, 0, 0)),
        ("1.2.3.4", (1, 2, 3, 4)),
        ("none", None),
    ],
)
def test_version(text: str, version: tuple[int, ...] | None) -> None:
    assert parse_version(text) == version


@pytest.mark.parametrize(
    ("settings", "environ", "expected"),
    [
        (None, {}, MaturinArguments()),
        ({"maturin.build-args": "--target a --zig"}, {}, MaturinArguments(("a",), zig=True)),
        ({"build-args": ["--target=a", "-m", "b"]}, {}, MaturinArguments(("a",), manifest="b")),
        ({"build-args": "-- --target a"}, {}, MaturinArguments()),
        (
            {},
            {"MATURIN_PEP517_ARGS": "--config 'x=\"y z\"'"},
            MaturinArguments(cargo_config=('x="y z"',)),
        ),
        ({"build-args": ""}, {"MATURIN_PEP517_ARGS": "--zig"}, MaturinArguments()),
        (
            {"build-args": "--target universal2-apple-darwin"},
            {},
            MaturinArguments(("x86_64-apple-darwin", "aarch64-apple-darwin")),
        ),
        (
            None,
            {"ARCHFLAGS": "-arch x86_64 -arch arm64"},
            MaturinArguments(("x86_64-apple-darwin", "aarch64-apple-darwin")),
        ),
    ],
)
def test_arguments(
    settings: dict[str, object] | None, environ: dict[str, str], expected: MaturinArguments
) -> None:
    assert read_arguments(settings, environ) == expected


def test_project(tmp_path: Path) -> None:
    write_tree(
        tmp_path,
        {
            "pyproject.toml": """\
                [build-system]
                requires = ["Maturin >= 1.13", "my_plugin[extra]==1 ; python_version > '3'"]

                [project]
                name = "thing"

                [tool.maturin]
                manifest-path = "rust/Cargo.toml"

                [tool.daisy-build]
                checks = ["one"]
                """,
            "rust/Cargo.toml": '[package]\nrust-version = "1.77"\n',
            "other/Cargo.toml": '[package]\nrust-version = "1.99"\n',
        },
    )

    project = read_project(tmp_path, None, {})
    other = read_project(tmp_path, {"build-args": "--manifest-path other/Cargo.toml"}, {})

    assert project.name == "thing"
    assert project.build_requires == {"maturin", "my-plugin"}
    assert project.settings == {"checks": ["one"]}
    assert project.rust is not None
    assert project.rust.text == "1.77"
    assert other.rust is not None
    assert other.rust.text == "1.99"


def test_requirements() -> None:
    (tool, header) = read_requirements(
        {
            "require": [
                {
                    "tool": "protoc",
                    "at-least": "3.15",
                    "version-command": ["protoc", "-V"],
                    "for": "the wire format",
                    "packages": {"debian": "protobuf-compiler"},
                },
                {"header": "hdf5.h", "fix": "module load hdf5"},
            ]
        }
    )

    assert tool == Requirement(
        name="protoc",
        at_least="3.15",
        version_command=("protoc", "-V"),
        reason="the wire format",
        packages={"debian": "protobuf-compiler"},
    )
    assert (header.name, header.header, header.fix) == ("hdf5.h", True, "module load hdf5")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"requires": []}, "got 'requires', expected checks or require"),
        ({"require": {"tool": "cmake"}}, "expected require as [[tool.daisy-build.require]]"),
        ({"require": [{"tool": "cmake", "min": "3"}]}, "got 'min', expected one of tool, header"),
        ({"require": [{"tool": "cmake", "at-least": 3}]}, "got at-least = 3, expected a str"),
        ({"require": [{"tool": "cmake", "at-least": "new"}]}, "got at-least = 'new'"),
        ({"require": [{"tool": "a", "header": "b"}]}, "expected exactly one of tool and header"),
        ({"require": [{}]}, "expected exactly one of tool and header"),
        ({"require": [{"tool": ""}]}, "got an empty name"),
    ],
)
def test_settings_that_have_no_meaning(settings: dict[str, object], words: str) -> None:
    with pytest.raises(SettingsError) as error:
        read_requirements(settings)

    assert words in str(error.value)


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        (
            'NAME="Rocky"\nID="rocky"\nID_LIKE="rhel centos fedora"\n',
            ("rocky", "rhel", "centos", "fedora"),
        ),
        ("ID=debian\n", ("debian",)),
        ("nothing to read\n", ()),
    ],
)
def test_os_release(tmp_path: Path, text: str, ids: tuple[str, ...]) -> None:
    file = tmp_path / "os-release"
    file.write_text(text, encoding="utf-8")

    assert read_os_ids((tmp_path / "none", file)) == ids


@pytest.mark.parametrize(
    ("platform", "families"),
    [
        (Platform("linux", ("ubuntu", "debian")), ("debian", "linux", "any")),
        (Platform("linux", ("nixos",)), ("linux", "any")),
        (
            Platform("linux", ("debian",), conda=True),
            ("linux-conda", "conda", "debian", "linux", "any"),
        ),
        (Platform("macos", homebrew=True), ("homebrew", "macos", "any")),
        (Platform("windows"), ("windows", "any")),
    ],
)
def test_families(platform: Platform, families: tuple[str, ...]) -> None:
    assert platform.families == families
