"""The check `linker`: programs and libraries can be linked, for this machine and for the target."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from daisy_build import advice
from daisy_build.check import Problem
from daisy_build.context import Context, Found, Outcome, Purpose
from daisy_build.evidence import evidence
from daisy_build.link_failures import diagnose, needs_mac_tools, not_linking
from daisy_build.link_probe import link_c, link_crate, linker_variable
from daisy_build.toolchain import Toolchain, find_toolchain

__all__ = ["LinkerCheck"]

_DEFAULT_LINKER = re.compile(r"(?:linker `cc` not found|linking with `cc` failed)")
_NOT_STARTED = re.compile(r"could not execute process `<probe>[^`]*` \(never executed\)")


class LinkerCheck:
    """Links an empty crate with cargo; with whatever C compiler there is, if `cc` is not one."""

    name = "linker"

    def applies(self, context: Context) -> bool:
        """Not for a source distribution, and not where zig brings the linker."""
        return context.purpose is not Purpose.SDIST and not context.project.arguments.zig

    def probe(self, context: Context) -> Problem | None:
        """Link for each target."""
        if context.platform.system == "macos":
            stand_in = _mac_stand_in(context)
            if stand_in is not None:
                return stand_in
        toolchain = find_toolchain(context)
        if isinstance(toolchain, Problem):
            return _without_cargo(context)
        for target in context.project.arguments.targets or (None,):
            problem = _link(context, toolchain, target)
            if problem is not None:
                return problem
        return None


def _link(context: Context, toolchain: Toolchain, target: str | None) -> Problem | None:
    outcome = _link_where_programs_may_run(context, toolchain, target, {})
    variable = linker_variable(toolchain.host)
    if (
        not outcome.ok
        and variable not in context.environ
        and _DEFAULT_LINKER.search(outcome.output)
    ):
        # rustc tries no other name than `cc`.
        for compiler in _other_compilers(context):
            other = _link_where_programs_may_run(context, toolchain, target, {variable: compiler})
            # The host's link came first; a failure that speaks of another linker is the target's.
            if other.ok or f"`{compiler}`" not in other.output:
                context.exports[variable] = compiler
                context.exports |= _for_crates_with_c(context, toolchain.host, compiler)
                context.notes.append(
                    f"`cc` does not link; cargo links with {compiler} ({variable})"
                )
                outcome = other
                break
    if outcome.ok:
        linker = context.exports.get(variable) or context.environ.get(variable, "cc")
        triple = target or toolchain.host
        context.found.append(Found("linker", context.which(linker) or linker, f"links {triple}"))
        return None
    if _NOT_STARTED.search(outcome.output):
        return _no_programs_in_temporary_folder(outcome)
    return diagnose(context, toolchain, target, outcome.output)


def _link_where_programs_may_run(
    context: Context, toolchain: Toolchain, target: str | None, variables: dict[str, str]
) -> Outcome:
    """Link; without the build script, if only the temporary folder forbids it to run."""
    outcome = link_crate(context, toolchain, target, variables)
    if outcome.ok or not _NOT_STARTED.search(outcome.output):
        return outcome
    temporary = Path(tempfile.gettempdir()).resolve()
    if temporary in context.project.root.resolve().parents:
        return outcome  # The build itself would run its build scripts there too.
    return link_crate(context, toolchain, target, variables, build_script=False)


def _for_crates_with_c(context: Context, host: str, compiler: str) -> dict[str, str]:
    """What the crate `cc`, with which others compile their C code, must be told: it, too, tries `cc` alone."""
    variable = f"CC_{host.replace('-', '_')}"
    named = context.environ.get("CC", "").split()
    if {variable, f"CC_{host}", "HOST_CC"} & context.environ.keys():
        return {}
    return {} if named and context.which(named[0]) else {variable: compiler}


def _other_compilers(context: Context) -> list[str]:
    named = context.environ.get("CC", "")
    names = [named, "gcc", "clang"] if " " not in named.strip() else ["gcc", "clang"]
    return [name for name in dict.fromkeys(names) if name and name != "cc" and context.which(name)]


def _without_cargo(context: Context) -> Problem | None:
    """There is no cargo to link with; say already now whether there will be a linker."""
    if context.platform.system == "windows":
        return None  # rustc finds Visual Studio by itself; a `link.exe` on PATH proves nothing.
    failed: tuple[str, Outcome] | None = None
    for compiler in dict.fromkeys(["cc", *_other_compilers(context)]):
        where = context.which(compiler)
        if where is None:
            continue
        outcome = link_c(context, compiler)
        if outcome.ok:
            context.found.append(Found("linker", where, "links a C program; not tried with cargo"))
            return None
        failed = failed or (compiler, outcome)
    if failed is not None:
        return not_linking(context, failed[0], failed[1].output)
    return Problem(
        "no C compiler was found, and Rust needs one to link",
        looked_for="`cc`, $CC, `gcc`, `clang` on PATH",
        fix=advice.compiler(context.platform),
    )


def _mac_stand_in(context: Context) -> Problem | None:
    # Asked before anything else: calling the stand-in itself may open a window.
    if context.which("cc") not in {None, "/usr/bin/cc"}:
        return None
    answer = context.run(["xcode-select", "-p"])
    return None if answer.ok else needs_mac_tools(context, evidence(answer.output))


def _no_programs_in_temporary_folder(outcome: Outcome) -> Problem:
    return Problem(
        f"programs may not be run in the temporary folder, {tempfile.gettempdir()}",
        looked_for="an empty crate with a build script, as most crates have one",
        evidence=evidence(outcome.output),
        fix='export TMPDIR="$HOME/tmp"  (a folder that exists, and that is not mounted noexec)',
    )
