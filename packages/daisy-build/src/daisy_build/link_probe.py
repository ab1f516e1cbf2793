"""One real link: what no look at names and versions can replace.

A compiler may be there and answer to `--version`, and still not link: no C library, a stand-in that
only asks for the real one, a linker variable with a typing error. So an empty crate is built, in a
second or less.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from daisy_build.context import Context, Outcome
from daisy_build.toolchain import Toolchain

__all__ = ["link_c", "link_crate", "linker_variable"]

# The build script is linked for the machine that builds, the library for the one that it is built
# for. The empty [workspace] keeps cargo from looking for one above the temporary folder.
_MANIFEST = """\
[package]
name = "daisy-build-probe"
version = "0.0.0"
edition = "2021"
publish = false
{build}

[lib]
crate-type = ["cdylib"]
path = "lib.rs"

[workspace]
"""
# The user's RUSTFLAGS may deny warnings.
_LIBRARY = "//! Nothing.\n#![allow(warnings)]\n"
_BUILD_SCRIPT = "//! Nothing.\n#![allow(warnings)]\nfn main() {}\n"
_C_PROGRAM = '#include <stdio.h>\nint main(void) { return puts("") < 0; }\n'


def link_crate(
    context: Context,
    toolchain: Toolchain,
    target: str | None,
    variables: Mapping[str, str],
    *,
    build_script: bool = True,
) -> Outcome:
    """Build an empty library as cargo would build the project: same folder, same configuration."""
    with tempfile.TemporaryDirectory(prefix="daisy-build-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        build = 'build = "build.rs"' if build_script else "build = false"
        (folder / "Cargo.toml").write_text(_MANIFEST.format(build=build), encoding="utf-8")
        (folder / "lib.rs").write_text(_LIBRARY, encoding="utf-8")
        (folder / "build.rs").write_text(_BUILD_SCRIPT, encoding="utf-8")
        command = [
            *(toolchain.cargo, "rustc", "--lib", "--offline", "--quiet"),
            *("--manifest-path", str(folder / "Cargo.toml")),
            *("--target-dir", str(folder / "target")),
            *(("--target", target) if target else ()),
            *(f"--config={value}" for value in context.project.arguments.cargo_config),
        ]
        if "musl" in (target or context.environ.get("CARGO_BUILD_TARGET") or toolchain.host):
            # As maturin does: a static C library leaves no room for a shared one.
            command += ["--", "-C", "target-feature=-crt-static"]
        outcome = context.run(command, variables)
        return Outcome(
            outcome.code,
            outcome.stdout.replace(name, "<probe>"),
            outcome.stderr.replace(name, "<probe>"),
        )


def link_c(context: Context, compiler: str) -> Outcome:
    """Link a C program: all that can be tried while there is no cargo."""
    with tempfile.TemporaryDirectory(prefix="daisy-build-", ignore_cleanup_errors=True) as name:
        source = Path(name) / "probe.c"
        source.write_text(_C_PROGRAM, encoding="utf-8")
        outcome = context.run([compiler, str(source), "-o", str(Path(name) / "probe")])
        return Outcome(
            outcome.code,
            outcome.stdout.replace(name, "<probe>"),
            outcome.stderr.replace(name, "<probe>"),
        )


def linker_variable(host: str) -> str:
    """The variable by which cargo is told what links for a triple."""
    return f"CARGO_TARGET_{host.upper().replace('-', '_').replace('.', '_')}_LINKER"
