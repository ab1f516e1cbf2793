"""A PEP 517 and PEP 660 build backend: maturin, after a look at what it needs.

Each of the eight hooks first makes sure that the machine can build the project, and then hands its
arguments to maturin unchanged. Every hook checks, because frontends differ in which they call: the
first that pip calls is `get_requires_for_build_wheel`; without isolation, `build_wheel`.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Protocol, cast

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

_Settings = Mapping[str, Any] | None


class _Maturin(Protocol):
    """maturin's own hooks, which carry no annotations that a type checker could rely on."""

    def get_requires_for_build_wheel(self, settings: _Settings) -> list[str]: ...
    def get_requires_for_build_editable(self, settings: _Settings) -> list[str]: ...
    def get_requires_for_build_sdist(self, settings: _Settings) -> list[str]: ...
    def prepare_metadata_for_build_wheel(self, folder: str, settings: _Settings) -> str: ...
    def prepare_metadata_for_build_editable(self, folder: str, settings: _Settings) -> str: ...
    def build_wheel(self, folder: str, settings: _Settings, metadata: str | None) -> str: ...
    def build_editable(self, folder: str, settings: _Settings, metadata: str | None) -> str: ...
    def build_sdist(self, folder: str, settings: _Settings) -> str: ...


def _maturin_for(purpose: str, config_settings: _Settings) -> _Maturin:
    """maturin, once nothing is missing that it needs."""
    from daisy_build.context import Purpose
    from daisy_build.gate import ensure_buildable

    ensure_buildable(Purpose(purpose), config_settings)
    # Only now: where something is missing, the message must not depend on maturin being there.
    return cast("_Maturin", import_module("maturin"))


def get_requires_for_build_wheel(config_settings: _Settings = None) -> list[str]:
    """What maturin wants installed for a wheel."""
    return _maturin_for("wheel", config_settings).get_requires_for_build_wheel(config_settings)


def get_requires_for_build_editable(config_settings: _Settings = None) -> list[str]:
    """What maturin wants installed for an editable install."""
    backend = _maturin_for("editable", config_settings)
    return backend.get_requires_for_build_editable(config_settings)


def get_requires_for_build_sdist(config_settings: _Settings = None) -> list[str]:
    """What maturin wants installed for a source distribution."""
    return _maturin_for("sdist", config_settings).get_requires_for_build_sdist(config_settings)


def prepare_metadata_for_build_wheel(
    metadata_directory: str, config_settings: _Settings = None
) -> str:
    """Write the metadata of a wheel; returns the name of its folder."""
    backend = _maturin_for("wheel", config_settings)
    return backend.prepare_metadata_for_build_wheel(metadata_directory, config_settings)


def prepare_metadata_for_build_editable(
    metadata_directory: str, config_settings: _Settings = None
) -> str:
    """Write the metadata of an editable install; returns the name of its folder."""
    backend = _maturin_for("editable", config_settings)
    return backend.prepare_metadata_for_build_editable(metadata_directory, config_settings)


def build_wheel(
    wheel_directory: str, config_settings: _Settings = None, metadata_directory: str | None = None
) -> str:
    """Build a wheel; returns its file name."""
    backend = _maturin_for("wheel", config_settings)
    return backend.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(
    wheel_directory: str, config_settings: _Settings = None, metadata_directory: str | None = None
) -> str:
    """Build a wheel that points to the source tree; returns its file name."""
    backend = _maturin_for("editable", config_settings)
    return backend.build_editable(wheel_directory, config_settings, metadata_directory)


def build_sdist(sdist_directory: str, config_settings: _Settings = None) -> str:
    """Pack a source distribution; returns its file name."""
    return _maturin_for("sdist", config_settings).build_sdist(sdist_directory, config_settings)
