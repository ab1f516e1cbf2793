"""A PEP 517 and PEP 660 build backend: maturin, after a look at what it needs.

Each of the eight hooks first makes sure that the machine can build the project, and then hands its arguments to
maturin unchanged. A check is made in every hook, because frontends differ in which they call, and in which order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from daisy_build.gate import prepare_environment

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

Settings = Mapping[str, Any] | None


def _maturin() -> Any:
    prepare_environment()
    import maturin

    return maturin


def get_requires_for_build_wheel(config_settings: Settings = None) -> list[str]:
    return _maturin().get_requires_for_build_wheel(config_settings)


def get_requires_for_build_editable(config_settings: Settings = None) -> list[str]:
    return _maturin().get_requires_for_build_editable(config_settings)


def get_requires_for_build_sdist(config_settings: Settings = None) -> list[str]:
    return _maturin().get_requires_for_build_sdist(config_settings)


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: Settings = None) -> str:
    return _maturin().prepare_metadata_for_build_wheel(metadata_directory, config_settings)


def prepare_metadata_for_build_editable(metadata_directory: str, config_settings: Settings = None) -> str:
    return _maturin().prepare_metadata_for_build_editable(metadata_directory, config_settings)


def build_wheel(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    return _maturin().build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    return _maturin().build_editable(wheel_directory, config_settings, metadata_directory)


def build_sdist(sdist_directory: str, config_settings: Settings = None) -> str:
    return _maturin().build_sdist(sdist_directory, config_settings)
