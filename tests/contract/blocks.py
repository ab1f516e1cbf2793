"""Every code block of a page is run by something, or says here why not.

`python` blocks, and `console` blocks of `daisy` and `python FILE` alone, are run by `tests/test_docs.py`.
Of all other commands the one that runs them is named, here or by being a step of `.ci/run`; data has
to parse.
"""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections.abc import Callable

from contract.execute import commands_of, may_run
from contract.repository import Fence, Repository
from contract.steps import LEFT_OUT

SHELLS = {"console", "sh", "bash", "shell"}
DATA: dict[str, Callable[[str], object]] = {"json": json.loads, "toml": tomllib.loads}
# What a program prints, pictures, and what Sphinx reads itself.
NOT_CODE = {"text", "mermaid", "bibtex"}

# Commands that no test runs word by word: a pattern of the whole command, and what stands for it.
STOOD_FOR = {
    r"python -m pip install nox": "the first step of .ci/run",
    r"python -m pip install .*daisy-py.*|pip install 'daisy-py.*": "not before the first release; "
    "`nox -s test_wheel` installs what will be there",
    r"python -m pip install '?\.(\[\w+\])?'?": "tests/test_dist.py, with real pip",
    r"pip install (-e )?\.": "tests/test_dist.py, with real pip",
    r"pip install -e '\.\[dev\]'": "as `nox -s typing` installs",
    r"pip install \. -C maturin\..*": "daisy-build hands settings on: its tests of hooks",
    r"CARGO_NET_OFFLINE=true pip install --no-index .*": "tests/test_dist.py builds without an index",
    r"DAISY_BUILD_INSTALL_RUST=1 pip install \.": "would download Rust; daisy-build's tests of hooks",
    r"conda install .*": "needs conda",
    r"CARGO_NET_OFFLINE=true nox -R -s tests": "needs that `nox -s tests` ran; then it is that",
    r"nox( -s bench.*)?": "`nox` is the sessions of .ci/run; bench takes long, its short form is `--quick`",
    r"nox -s tests -- .*": "`nox -s tests` with arguments of pytest",
    r"cargo run --release -p daisy-core --example \w+": "cargo test builds the examples",
    r"(PYTHONPATH=\S+ )?python -m daisy_build.*": "daisy-build's tests of the doctor",
    r"daisy demo --workers 2": "`nox -s demo`",
    r"daisy report tracking": "packages/daisy-py/tests/test_report*.py, on stores that runs left",
    r"daisy check-network --context .*": "packages/daisy-py/tests/faults/test_network.py",
    r"daisy worker .*": "packages/daisy-py/tests/test_by_hand.py",
    r"sbatch .*--wrap .*": "needs a cluster with a policy",
    r"DAISY_WORKER_START=spawn python my_script\.py": "`python FILE`, with a setting that has its own test",
}

# Pages whose `py` blocks need what a test machine has not.
NEEDS_AN_ENGINE = {
    f"docs/how-to/{page}.md": "packages/daisy-py/tests/engines runs such tasks"
    for page in ("batch", "dask", "ray", "slurm")
}


def check_code_blocks_are_run(repository: Repository) -> list[str]:
    """Return the code blocks that nothing runs and nothing here explains."""
    script = (repository.root / ".ci/run").read_text(encoding="utf-8")
    faults = []
    for fence in repository.fences:
        where = f"{repository.name(fence.page)}:{fence.line}"
        faults += [f"{where}: {fault}" for fault in _faults(repository, fence, script)]
    return faults


def _faults(repository: Repository, fence: Fence, script: str) -> list[str]:
    if fence.language in DATA:
        try:
            DATA[fence.language](fence.text)
        except ValueError as error:
            return [f"this is not {fence.language}: {error}"]
        return []
    if fence.language == "py":
        try:
            ast.parse(fence.text)
        except SyntaxError as error:
            return [f"not Python: {error.msg}"]
        known = repository.name(fence.page) in NEEDS_AN_ENGINE
        return [] if known else ["`py` blocks are not run; say `python`, or why in contract.blocks"]
    if fence.language in SHELLS:
        return _unrun(fence, script)
    if fence.language in NOT_CODE | {"python", "rust"} or fence.language.startswith("{"):
        return []
    return [f"a block of the language {fence.language!r}: nothing runs it, and nothing says why"]


def _unrun(fence: Fence, script: str) -> list[str]:
    words = commands_of(fence)
    if words and fence.language == "console" and all(map(may_run, words)):
        return []  # tests/test_docs.py runs it
    prompted = any(line.startswith("$ ") for line in fence.text.splitlines())
    lines = [line for line in fence.text.splitlines() if line.startswith("$ ") or not prompted]
    commands = [
        re.sub(r"\s+#.*", "", part).strip()
        for line in lines
        for part in line.removeprefix("$ ").split(" && ")
    ]
    return [
        f"nothing runs `{command}`, and contract.blocks does not say why"
        for command in commands
        if command
        and f"'{command}'" not in script
        and f"&& {command}'" not in script
        and command not in LEFT_OUT
        and not re.match(r"nox -s (lint typing|demo|tests)\b", command)
        and not any(re.fullmatch(pattern, command) for pattern in STOOD_FOR)
    ]
