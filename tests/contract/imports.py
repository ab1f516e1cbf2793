"""Every third-party module that is imported is declared where it is used."""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from contract.repository import Repository

# Modules whose distribution has another name.
_DISTRIBUTIONS = {"funlib": "funlib.geometry", "yaml": "pyyaml", "sklearn": "scikit-learn"}
_OURS = {"daisy", "daisy_build", "contract", "sessions"}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _declared(requirements: Iterable[str | dict[str, str]]) -> set[str]:
    plain = (entry for entry in requirements if isinstance(entry, str))
    return {_normal(re.split(r"[\s<>=!~;\[@]", entry, maxsplit=1)[0]) for entry in plain}


def imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield (line, module) of every absolute import in `tree`, wherever it stands.

    `pytest.importorskip` counts: a test that is skipped everywhere tests nothing. What stands in a
    `try` that expects an `ImportError` does not.
    """
    optional = {id(node) for block in ast.walk(tree) for node in _guarded(block)}
    for node in ast.walk(tree):
        if id(node) in optional:
            continue
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.lineno, node.module
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.importorskip":
            yield node.lineno, ast.literal_eval(node.args[0])


def _guarded(block: ast.AST) -> Iterator[ast.AST]:
    """Yield what stands in `block` if that is a `try` that expects imports to fail."""
    if isinstance(block, ast.Try):
        expected = " ".join(ast.unparse(one.type) for one in block.handlers if one.type)
        if "ImportError" in expected or "ModuleNotFoundError" in expected:
            for statement in block.body:
                yield from ast.walk(statement)


def _allowed(repository: Repository) -> list[tuple[str, set[str]]]:
    """Return (pattern of paths, distributions allowed there); the first match counts."""
    project = repository.toml("pyproject.toml")
    backend = repository.toml("packages/daisy-build/pyproject.toml")
    groups = project["dependency-groups"]
    base = _declared(project["project"]["dependencies"])
    demo = base | _declared(project["project"]["optional-dependencies"]["demo"])
    report = base | _declared(project["project"]["optional-dependencies"]["report"])
    extras = project["project"]["optional-dependencies"]
    engines = _declared(extras["dask"] + extras["ray"])
    test = demo | _declared(groups["test"]) | _declared(groups["workflows"])
    backend_test = _declared(backend["dependency-groups"]["test"])
    backend_base = _declared(backend["project"]["dependencies"])
    return [
        (r"packages/daisy-py/python/daisy/demo/.*", demo),
        (r"packages/daisy-py/python/daisy/_report/.*", report),
        (r"packages/daisy-py/python/daisy/launchers/(dask|ray)\.py", base | engines),
        (r"packages/daisy-py/python/.*", base),
        (r"packages/daisy-py/tests/compat/clients/.*", test | _clients(groups)),
        (r"packages/daisy-py/tests/engines/.*", demo | _declared(groups["test"]) | engines),
        (
            r"packages/daisy-py/tests/.*",
            demo | _declared(groups["test"] + groups["stores"] + groups["notebook"]),
        ),
        (r"packages/daisy-build/src/.*", backend_base),
        (r"packages/daisy-build/tests/.*", backend_base | backend_test | _declared(groups["test"])),
        (r"tests/sessions/.*", {"nox", "packaging"}),  # nox brings packaging
        (r"tests/.*", test | backend_test),
        (r"examples/.*", base | _declared(groups["examples"])),
        (r"benchmarks/.*", demo | _declared(groups["bench"]) | _measured(repository)),
        (r"docs/.*", _declared(groups["docs"] + groups["examples"] + groups["look"])),
        (r"noxfile\.py", {"nox"}),
    ]


def _clients(groups: dict[str, list[str | dict[str, str]]]) -> set[str]:
    """Return what belongs to the programs of the session `clients`."""
    return _declared(groups.get("clients", []) + groups.get("clients-gunpowder", []))


def _measured(repository: Repository) -> set[str]:
    """Return what the benchmarks install by themselves, each package into its own environment."""
    source = repository.root / "benchmarks/packages.py"
    tree = ast.parse(source.read_text(encoding="utf-8")) if source.exists() else ast.Module([], [])
    texts = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    pattern = r"[A-Za-z][\w.-]*(\[[\w,]+\])?[<>=]=.*"
    return _declared(text for text in texts if isinstance(text, str) and re.match(pattern, text))


def _undeclared(where: str, tree: ast.AST, allowed: set[str], local: set[str]) -> Iterator[str]:
    for line, module in imported(tree):
        top = module.partition(".")[0]
        if top in sys.stdlib_module_names or top in _OURS or top in local:
            continue
        if _normal(_DISTRIBUTIONS.get(top, top)) not in allowed:
            yield f"{where}:{line}: imports {top}, which is not declared for this place"


def _siblings(path: Path, root: Path) -> set[str]:
    """Return the modules that lie beside `path` or in a folder above it, below the root."""
    found: set[str] = set()
    for folder in path.parents:
        if folder == root:
            break
        found |= {
            entry.stem for entry in folder.iterdir() if entry.suffix == ".py" or entry.is_dir()
        }
    return found


def check_imports(repository: Repository) -> list[str]:
    """Return the imports of modules that are not declared where they are used."""
    faults = []
    rules = _allowed(repository)
    for path in repository.named(r".*\.py"):
        name = repository.name(path)
        allowed = next((names for pattern, names in rules if re.fullmatch(pattern, name)), None)
        if allowed is None:
            faults.append(f"{name}: no rule says what may be imported here")
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"), name)
        faults += _undeclared(name, tree, allowed, _siblings(path, repository.root))
    return faults


def check_imports_of_pages(repository: Repository) -> list[str]:
    """Return the imports in code blocks of pages of what the extras `examples` and `docs` do not bring."""
    project = repository.toml("pyproject.toml")
    allowed = _declared(project["project"]["dependencies"])
    for extra in ("examples", "docs"):
        allowed |= _declared(project["project"]["optional-dependencies"][extra])
    faults: list[str] = []
    beside: dict[Path, set[str]] = defaultdict(set)  # modules that a page has its reader write
    for fence in repository.fences:
        if named := re.match(r"# file: (\w+)\.py\n", fence.text):
            beside[fence.page].add(named[1])
    for fence in repository.fences:
        if fence.language == "python":
            where = f"{repository.name(fence.page)}:{fence.line}"
            try:
                tree = ast.parse(fence.text)
            except SyntaxError as error:
                faults.append(f"{where}: not Python: {error.msg}")
                continue
            faults += _undeclared(where, tree, allowed, beside[fence.page])
    return faults
