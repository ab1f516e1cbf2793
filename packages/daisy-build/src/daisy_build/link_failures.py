"""What a failed link means, read from the words of cargo, rustc and the linker."""

from __future__ import annotations

import re

from daisy_build import advice
from daisy_build.check import Problem
from daisy_build.context import Context
from daisy_build.evidence import evidence
from daisy_build.link_probe import linker_variable
from daisy_build.toolchain import Toolchain

__all__ = ["diagnose", "missing_linker", "needs_mac_tools", "not_linking"]

_NO_LINKER = re.compile(r"linker `([^`]+)` not found")
_FAILED_LINKER = re.compile(r"linking with `([^`]+)` failed")
_NO_TARGET = re.compile(r"the `([^`]+)` target may not be installed")
_NO_STD = re.compile(r"can't find crate for `(?:std|core)`")
_NO_C_LIBRARY = re.compile(
    r"(?:S|g|r)?crt[1in]\.o|crtbegin\w*\.o|cannot find -l(?:c|gcc|gcc_s|m|pthread|dl|util|rt)\b"
    r"|unable to find library -l(?:c|gcc|gcc_s|m|pthread|dl|util|rt)\b"
    r"|stdio\.h:? (?:No such file|file not found)|'stdio\.h' file not found"
)
_MAC_STAND_IN = re.compile(
    r"xcode-select: (?:note|error)|xcrun: error|invalid active developer path|no developer tools",
    re.IGNORECASE,
)
_OTHER_LINK_EXE = re.compile(r"link: (?:extra|missing) operand|Try '?link --help|usr.bin.link")
_NOT_EXECUTABLE = re.compile(r"could not execute process `([^` ]+)[^`]*` \(never executed\)")


def diagnose(context: Context, toolchain: Toolchain, target: str | None, output: str) -> Problem:
    """Turn the output of a failed probe into one finding."""
    words = evidence(output)
    triple = target or context.environ.get("CARGO_BUILD_TARGET") or toolchain.host
    if _MAC_STAND_IN.search(output):
        return needs_mac_tools(context, words)
    if _OTHER_LINK_EXE.search(output):
        return Problem(
            "link.exe is not Microsoft's linker but another program of that name (Git has one)",
            looked_for="the Visual Studio C++ build tools, then `link.exe` on PATH",
            evidence=words,
            fix=advice.compiler(context.platform),
        )
    missing = _NO_LINKER.search(output)
    if missing is not None:
        return missing_linker(context, (triple, toolchain.host), missing.group(1), words)
    if _NO_STD.search(output):
        named = _NO_TARGET.search(output)
        triple = named.group(1) if named else triple
        return Problem(
            f"the Rust standard library for {triple} is not installed",
            looked_for=f"the library folder of {toolchain.rustc}",
            evidence=words,
            fix=advice.target_library(context.platform, triple, rustup=bool(toolchain.rustup)),
        )
    failed = _FAILED_LINKER.search(output)
    if failed is not None or _NO_C_LIBRARY.search(output):
        return not_linking(context, failed.group(1) if failed else "cc", output)
    return _no_linker_at_fault(context, toolchain, output)


def _no_linker_at_fault(context: Context, toolchain: Toolchain, output: str) -> Problem:
    """Cargo did not come as far as the link."""
    words = evidence(output)
    program = _NOT_EXECUTABLE.search(output)
    if program is not None:
        return Problem(
            f"cargo cannot start {program.group(1)}",
            looked_for="an empty crate, built with the project's cargo configuration",
            evidence=words,
            fix=_configured(context, program.group(1))
            or f"install {program.group(1)}, or take it out of the cargo configuration",
        )
    return Problem(
        "cargo cannot build an empty crate",
        looked_for=f"{toolchain.cargo}, in {context.project.root}",
        evidence=words,
        fix="mend what cargo names here; `cargo config` and RUSTFLAGS are the usual places",
    )


def missing_linker(
    context: Context, triples: tuple[str, ...], linker: str, words: tuple[str, ...]
) -> Problem:
    """There is no program of the linker's name, for one of the triples that were linked for."""
    if linker in {"link.exe", "link"}:
        return Problem(
            "the linker of Visual Studio (MSVC) was not found",
            looked_for="the Visual Studio C++ build tools, as rustc finds them",
            evidence=words,
            fix=advice.compiler(context.platform),
        )
    if linker != "cc":
        # Somebody chose it: a variable, the cargo configuration, or a build for another machine.
        variables = [linker_variable(triple) for triple in triples]
        named = [name for name in variables if context.environ.get(name) == linker]
        source = named[0] if named else f"the cargo configuration or by rustc for {triples[0]}"
        fix = (
            f"unset {named[0]}" if named else f"install {linker}, or name another in {variables[0]}"
        )
        return Problem(
            f"the linker {linker} was not found",
            looked_for=f"`{linker}` on PATH, named by {source}",
            evidence=words,
            fix=fix,
        )
    return Problem(
        "no C compiler was found, and Rust needs one to link",
        looked_for="`cc`, $CC, `gcc`, `clang` on PATH",
        evidence=words,
        fix=advice.compiler(context.platform),
    )


def not_linking(context: Context, linker: str, output: str) -> Problem:
    """The linker is there and runs, and the link fails."""
    where = context.which(linker) or linker
    if _NO_C_LIBRARY.search(output):
        what = f"{linker} cannot link: the C library's development files are missing"
    else:
        what = f"{linker} was found, but cannot link"
    return Problem(
        what,
        looked_for=f"{where}, by linking an empty program",
        evidence=evidence(output),
        fix=advice.compiler(context.platform),
    )


def needs_mac_tools(context: Context, words: tuple[str, ...]) -> Problem:
    """On a Mac without developer tools, `cc` only asks for their installation."""
    return Problem(
        "cc is the stand-in of macOS: the command line developer tools are not installed",
        looked_for=f"{context.which('cc') or 'cc'}, `xcode-select -p`",
        evidence=words,
        fix="xcode-select --install",
    )


def _configured(context: Context, program: str) -> str:
    for variable in ("RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "RUSTC"):
        if context.environ.get(variable) == program:
            return f"unset {variable}"
    return ""
