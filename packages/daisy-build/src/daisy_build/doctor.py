"""What was found, where, and what a build would do: for people, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from daisy_build.context import Purpose
from daisy_build.inspection import Inspection, Result, Status
from daisy_build.report import ascii_text_lines, render_problems

__all__ = ["describe", "render_json", "render_text"]


def describe(inspection: Inspection) -> dict[str, Any]:
    """The inspection as plain data; the keys are documented and kept."""
    context = inspection.context
    project = context.project
    return {
        "ok": not inspection.problems,
        "project": {
            "name": project.name,
            "rust_version": project.rust.text if project.rust else None,
            "targets": list(project.arguments.targets),
        },
        "purpose": context.purpose.value,
        "platform": {
            "system": context.platform.system,
            "families": list(context.platform.families),
        },
        "checks": [_result(result) for result in inspection.results],
        "exports": dict(context.exports),
        "warnings": list(inspection.warnings),
        "notes": list(context.notes),
        "would": _plan(inspection),
    }


def render_json(inspection: Inspection) -> str:
    """The description as indented JSON."""
    return json.dumps(describe(inspection), indent=2) + "\n"


def render_text(inspection: Inspection) -> str:
    """The description for people, ending with the message that a build would give."""
    seen = describe(inspection)
    project = seen["project"]
    lines = [
        f"daisy-build doctor: {project['name']}, {seen['purpose']}",
        f"  platform   {' > '.join(seen['platform']['families'])}",
        f"  rust       {project['rust_version'] or 'any version'} needed",
        *(f"  target     {target}" for target in project["targets"]),
        "",
    ]
    for check in seen["checks"]:
        lines.append(f"  [{check['status']}] {check['name']}{_reason(check)}")
        lines += [_found(item) for item in check["found"]]
    lines += ["", *(f"  note: {text}" for text in (*seen["warnings"], *seen["notes"]))]
    lines += [f"  -> {seen['would']}"]
    text = ascii_text_lines(lines)
    return f"{text}\n{render_problems(inspection)}" if inspection.problems else text


def _plan(inspection: Inspection) -> str:
    context = inspection.context
    if inspection.problems:
        names = ", ".join(dict.fromkeys(name for name, _ in inspection.problems))
        return f"a build would stop with exit code 1 before maturin is called ({names})"
    what = "write a source distribution" if context.purpose is Purpose.SDIST else "build"
    exports = " ".join(f"{name}={value}" for name, value in sorted(context.exports.items()))
    downloads = context.may_install_rust and context.which("cargo") is None
    rust = " after downloading Rust" if downloads else ""
    return f"maturin would {what}{rust}" + (f", with {exports}" if exports else "")


def _result(result: Result) -> dict[str, Any]:
    problem = result.problem
    return {
        "name": result.name,
        "status": result.status.value,
        "found": [
            {"what": found.what, "where": found.where, "version": found.version}
            for found in result.found
        ],
        "problem": None
        if problem is None
        else {
            "what": problem.what,
            "looked_for": problem.looked_for,
            "evidence": list(problem.evidence),
            "fix": problem.fix,
        },
        "reason": result.reason,
    }


def _reason(check: Mapping[str, Any]) -> str:
    if check["status"] == Status.BROKEN:
        return f": {check['reason']}"
    return f": {check['problem']['what']}" if check["problem"] else ""


def _found(item: Mapping[str, Any]) -> str:
    version = f"  ({item['version']})" if item["version"] else ""
    return f"      {item['what']}: {item['where']}{version}"
