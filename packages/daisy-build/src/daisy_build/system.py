"""The real machine behind a context."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from daisy_build.context import Context, Outcome, Purpose
from daisy_build.platforms import detect_platform
from daisy_build.project import read_project

__all__ = ["system_context"]

# Long enough for a cold network home on a cluster; a tool that takes longer hangs, or downloads.
_PATIENCE_SECONDS = 120.0
_PATIENCE_WITH_DOWNLOADS_SECONDS = 1800.0

# English, uncoloured and short: what the tools say is shown to the user, and read by us.
_PLAIN = {
    "CARGO_TERM_COLOR": "never",
    "LC_ALL": "C",
    "NO_COLOR": "1",
    "RUSTUP_TERM_COLOR": "never",
    "RUST_BACKTRACE": "0",
}


def system_context(
    purpose: Purpose,
    config_settings: Mapping[str, Any] | None = None,
    root: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> Context:
    """Describe this machine and the project in `root`, by default the current folder."""
    root = Path.cwd() if root is None else root
    environ = dict(os.environ if environ is None else environ)
    search_path = environ.get("PATH", os.defpath)

    def which(program: str) -> str | None:
        return shutil.which(program, path=search_path)

    # rustup would fetch the toolchain that a project pins when cargo is asked for its version.
    downloads = environ.get("DAISY_BUILD_INSTALL_RUST") == "1"
    rustup = {} if downloads else {"RUSTUP_AUTO_INSTALL": "0"}
    patience = _PATIENCE_WITH_DOWNLOADS_SECONDS if downloads else _PATIENCE_SECONDS

    def run(command: Sequence[str], variables: Mapping[str, str]) -> Outcome:
        return run_command(command, root, {**rustup, **environ, **_PLAIN, **variables}, patience)

    return Context(
        purpose=purpose,
        project=read_project(root, config_settings, environ),
        platform=detect_platform(environ, which),
        environ=environ,
        which=which,
        runner=run,
        home=Path(environ.get("HOME") or Path.home()),
    )


def run_command(
    command: Sequence[str],
    folder: Path,
    environ: Mapping[str, str],
    patience_seconds: float = _PATIENCE_SECONDS,
) -> Outcome:
    """Run a command to its end; that it cannot be run is an outcome, not an exception."""
    # Windows looks in its own PATH, not in that of `env`.
    program = shutil.which(command[0], path=environ.get("PATH", os.defpath)) or command[0]
    try:
        ended = subprocess.run(  # noqa: S603 - the commands are ours, not read from the network
            [program, *command[1:]],
            cwd=folder,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=patience_seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Outcome(124, stderr=f"{command[0]}: no answer within {patience_seconds:.0f} s")
    except OSError as error:
        return Outcome(126, stderr=f"{command[0]}: {error.strerror or error}")
    return Outcome(ended.returncode, _text(ended.stdout), _text(ended.stderr))


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", errors="replace").replace("\r\n", "\n")
