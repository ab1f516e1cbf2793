"""The check `rust`: a cargo that answers, and a rustc that is new enough."""

from __future__ import annotations

import re

from daisy_build import advice
from daisy_build.check import Problem
from daisy_build.context import Context, Found
from daisy_build.toolchain import Toolchain, find_toolchain

__all__ = ["RustCheck"]


class RustCheck:
    """Finds cargo and rustc, and compares rustc with the project's `rust-version`."""

    name = "rust"

    def applies(self, context: Context) -> bool:
        """Always: even a source distribution is packed by cargo."""
        return True

    def probe(self, context: Context) -> Problem | None:
        """Ask both for their versions."""
        if context.may_install_rust and context.which("cargo") is None:
            context.notes.append(
                "cargo was not found; as DAISY_BUILD_INSTALL_RUST=1 is set, "
                "maturin now downloads Rust into the user's cache folder"
            )
            return None
        found = find_toolchain(context)
        if isinstance(found, Problem):
            return found
        context.found.append(Found("cargo", found.cargo, found.cargo_version))
        context.found.append(Found("rustc", found.rustc, found.rustc_words))
        required = context.project.rust
        if required is None or found.rustc_version >= required.version:
            return None
        have = ".".join(map(str, found.rustc_version))
        pin, fix = _newer(context, found, required.text)
        return Problem(
            f"rustc {have} is too old: {context.project.name} needs {required.text} or newer",
            looked_for=f"{found.rustc}{pin}; {required.source}",
            evidence=(found.rustc_words,),
            fix=fix,
        )


def _newer(context: Context, found: Toolchain, needed: str) -> tuple[str, str]:
    """Why this rustc was chosen, and what makes another be chosen."""
    if found.rustup is None:
        return "", advice.update_rust(context.platform)
    answer = context.run([found.rustup, "show", "active-toolchain"])
    # The first line is `1.70.0-x86_64-unknown-linux-gnu (overridden by '/p/rust-toolchain.toml')`.
    chosen, _, reason = answer.stdout.partition("\n")[0].strip().partition(" ")
    reason = reason.strip("() ")
    pin = f" ({reason})" if reason and reason != "default" else ""
    file = re.search(r"'([^']*rust-toolchain(?:\.toml)?)'", reason)
    if file is not None:
        return pin, f"ask for {needed} or newer in {file.group(1)}"
    if "RUSTUP_TOOLCHAIN" in reason:
        windows = context.platform.system == "windows"
        return pin, "Remove-Item Env:RUSTUP_TOOLCHAIN" if windows else "unset RUSTUP_TOOLCHAIN"
    if "directory override" in reason:
        return pin, "rustup override unset"
    if chosen.startswith(("stable", "beta", "nightly")):
        return pin, f"rustup update {chosen.partition('-')[0]}"
    return pin, "rustup update stable && rustup default stable"
