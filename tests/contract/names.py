"""Sessions, groups, extras and commands that workflows, scripts and pages name do exist."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from contract.repository import Repository

_CONSOLE = {"console", "bash", "sh", "shell"}

# First words of commands that a page may tell a reader to type; what daisy brings is looked up.
_KNOWN_PROGRAMS = {
    *(
        "brew",
        "cargo",
        "cd",
        "conda",
        "cp",
        "curl",
        "dnf",
        "apk",
        "pacman",
        "apt-get",
        "sudo",
        "echo",
    ),
    *(
        "export",
        "gh",
        "git",
        "kill",
        "ls",
        "mkdir",
        "nox",
        "pip",
        "python",
        "rm",
        "scancel",
        "sinfo",
    ),
    *("sbatch", "srun", "squeue", "ssh", "uv", "xcode-select", "bash", "cat", "nvidia-smi", "tail"),
    *(
        "less",
        "grep",
        "time",
        "source",
        "towncrier",
        "ruff",
        "pre-commit",
        "bsub",
        "bjobs",
        "bkill",
    ),
    *("rustup", "jupyter", "zizmor", "winget", "maturin", "pytest", "module"),
}


def _lines(repository: Repository) -> Iterator[tuple[str, str]]:
    """Yield (where, line) of all that names commands: workflows, scripts of CI, and pages."""
    for path in [
        *repository.named(r"\.github/workflows/.*\.ya?ml"),
        *repository.named(r"\.ci/.*"),
        *repository.named(r"\.pre-commit-config\.yaml"),
        *repository.pages,
    ]:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            yield f"{repository.name(path)}:{number}", line


def check_sessions(repository: Repository) -> list[str]:
    """Return the nox sessions that are named somewhere and do not exist."""
    faults = []
    for where, line in _lines(repository):
        for match in re.finditer(r"\bnox (?:-R )?(?:-s|--session)((?: [a-z_]+)+)", line):
            for name in _session_words(match[1], line[match.end() :]):
                if name not in repository.sessions:
                    faults.append(f"{where}: nox has no session {name!r}")
    return faults


def _session_words(words: str, rest: str) -> list[str]:
    """Return the names after `-s`: in running text only the first word is one."""
    named = words.split()
    return named[:1] if rest and not re.match(r"\s*(`|$|&&|--|#|'|\")", rest) else named


def check_groups_and_extras(repository: Repository) -> list[str]:
    """Return the dependency groups and extras that are named somewhere and do not exist."""
    project = repository.toml("pyproject.toml")
    groups = set(project["dependency-groups"])
    extras = set(project["project"]["optional-dependencies"])
    faults = []
    for where, line in _lines(repository):
        for name in re.findall(r"--group[ =]([\w-]+)", line):
            if name not in groups:
                faults.append(f"{where}: there is no dependency group {name!r}")
        named = re.findall(r"--extra[ =]([\w-]+)", line)
        for listed in re.findall(r"(?:daisy-py|[\s\"'`]\.)\[([\w,-]+)\]", line):
            named += listed.split(",")
        faults += [f"{where}: there is no extra {name!r}" for name in named if name not in extras]
    return faults


def check_extras_equal_groups(repository: Repository) -> list[str]:
    """Return the extras that say other things than the dependency group of the same name."""
    project = repository.toml("pyproject.toml")
    groups = project["dependency-groups"]

    def flat(name: str) -> set[str]:
        found: set[str] = set()
        for entry in groups[name]:
            found |= flat(entry["include-group"]) if isinstance(entry, dict) else {entry}
        return found

    faults = []
    for name, listed in project["project"]["optional-dependencies"].items():
        if name in groups and set(listed) != flat(name):
            odd = sorted(set(listed) ^ flat(name))
            faults.append(f"pyproject.toml: extra and group {name!r} differ in {', '.join(odd)}")
    return faults


def _commands(repository: Repository) -> Iterator[tuple[str, list[str]]]:
    """Yield (where, words) of each command in the console blocks of the pages."""
    for fence in repository.fences:
        if fence.language not in _CONSOLE:
            continue
        prompted = any(line.startswith("$ ") for line in fence.text.splitlines())
        for offset, line in enumerate(fence.text.splitlines(), start=1):
            if prompted and not line.startswith("$ "):
                continue  # what the command printed
            for part in re.split(r"&&|\||;", line.removeprefix("$ ")):
                try:
                    words = shlex.split(part, comments=True)
                except ValueError:
                    continue  # one line of a quoted text of several
                while words and re.fullmatch(r"\w+=.*", words[0]):
                    words.pop(0)
                if words:
                    yield f"{repository.name(fence.page)}:{fence.line + offset}", words


def check_console_commands(repository: Repository) -> list[str]:
    """Return the commands of console blocks that neither daisy brings nor everybody knows."""
    scripts = set(repository.toml("pyproject.toml")["project"]["scripts"])
    source = "".join(
        path.read_text(encoding="utf-8")
        for path in repository.named(r"packages/daisy-py/python/daisy/.*\.py")
    )
    faults = []
    for where, words in _commands(repository):
        program = words[0]
        if program in scripts:
            faults += [
                f"{where}: `{program}` knows no {word!r}"
                for word in words[1:]
                if re.fullmatch(r"--[a-z-]+|[a-z]+", word.split("=")[0])
                and not re.search(
                    rf"[\"'](?:{program} )?{re.escape(word.split('=')[0])}[\"']", source
                )
            ]
        elif program not in _KNOWN_PROGRAMS and not program.startswith((".", "/", "-", "$", "<")):
            faults.append(f"{where}: nothing here or on a usual machine is called {program!r}")
    return faults
