"""Every check and every job of this repository, by name: `nox -s NAME`; `nox -l` lists them.

No session needs another to have run, each installs its own tools, and a second run reuses what the
first built. CI calls these sessions and nothing else, so what is green here is green there.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import nox

# nox runs this file without its folder on the path.
sys.path.insert(0, str(Path(__file__).parent / "tests"))

from sessions.browser import BROWSERS, find_browser, install_browser
from sessions.built import build_into, given_file, test_installed
from sessions.clients import (
    PUBLISHED,
    PUBLISHED_1,
    client_environment,
    client_requirements,
)
from sessions.environments import (
    BACKEND,
    BACKEND_PROJECT,
    PACKAGE,
    ROOT,
    backend_group,
    cargo,
    existing,
    fitting_extras,
    fitting_groups,
    group,
    install_editable,
    run_as_root,
)
from sessions.llvm import install_cargo_llvm_cov, llvm_tools

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.reuse_venv = "yes"
nox.options.sessions = ["tests", "lint", "typing", "workflows", "docs"]

PYTHON_TESTS = ["packages/daisy-py/tests", "packages/daisy-build/tests", "tests"]
# The tests of daisy hand it wrong values on purpose; those of engines share a module that lies beside them.
FORGIVEN = ["arg-type", "import-not-found"]
LENIENT = {
    "packages/daisy-py/tests": [
        *(f"--disable-error-code={code}" for code in FORGIVEN),
    ]
}


@nox.session
def tests(session: nox.Session) -> None:
    """Build everything, run the Rust and Python tests; with arguments, only `pytest ARGUMENTS`."""
    if not session.posargs:
        cargo(session, "test", "--quiet", "--package", "daisy-core")
    requirements = [*group(*fitting_groups(), "workflows"), *backend_group("test")]
    install_editable(session, *fitting_extras(), requirements=requirements)
    quick = [
        "-m",
        "not soak and not slow and not engine and not two_hosts",
        *existing(*PYTHON_TESTS),
    ]
    session.run("pytest", *(session.posargs or quick))


@nox.session(venv_backend="none")
def rust(session: nox.Session) -> None:
    """Run the Rust tests alone, with cargo-nextest where it is installed."""
    if shutil.which("cargo-nextest"):
        cargo(session, "nextest", "run", "--package", "daisy-core", *session.posargs)
        cargo(session, "test", "--quiet", "--package", "daisy-core", "--doc")
    else:
        cargo(session, "test", "--package", "daisy-core", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Judge style: ruff, rustfmt, clippy, rustdoc, and the floors of the Python package."""
    session.install(*group("lint"))
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("lint-imports", env={"PYTHONPATH": str(PACKAGE.parent)})
    cargo(session, "fmt", "--all", "--check")
    cargo(session, "clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings")
    deny = {"RUSTDOCFLAGS": "-D warnings"}
    cargo(session, "doc", "--quiet", "--no-deps", "--package", "daisy-core", **deny)


@nox.session
def typing(session: nox.Session) -> None:
    """Check the annotations with mypy --strict, and the stub of the extension with stubtest."""
    requirements = [*group("dev", "workflows", "bench"), *backend_group("test")]
    install_editable(session, "demo", requirements=requirements)
    session.run("mypy", "--package", "daisy")
    session.run("mypy", "packages/daisy-build/src")
    session.run("mypy", "noxfile.py", env={"MYPYPATH": "tests"})
    for folder in existing(*PYTHON_TESTS, "benchmarks", "examples"):
        if next((ROOT / folder).rglob("*.py"), None):
            options = ["--explicit-package-bases", *LENIENT.get(folder, [])]
            session.run("mypy", *options, folder, env={"MYPYPATH": folder})
    if (PACKAGE / "_core.pyi").exists():
        session.run("stubtest", "daisy._core")


@nox.session
def stubs(session: nox.Session) -> None:
    """Generate the stub of the extension and compare it (`-- --write`: and keep it)."""
    session.install(*BACKEND_PROJECT["project"]["dependencies"])
    made = Path(session.create_tmp()).resolve()
    manifest = "--manifest-path=packages/daisy-py/Cargo.toml"
    session.run("maturin", "generate-stubs", "--features=stubs", manifest, f"--out={made}")
    new, kept = made / "daisy/_core.pyi", PACKAGE / "_core.pyi"
    if "--write" in session.posargs:
        shutil.copy(new, kept)
    elif not kept.exists() or new.read_bytes() != kept.read_bytes():
        session.error("_core.pyi is not what the extension says: `nox -s stubs -- --write`")


@nox.session
def backend(session: nox.Session) -> None:
    """Test daisy-build and what it builds: fake machines, real pip, contents of wheel and sdist."""
    session.install("-e", str(BACKEND), *backend_group("test"), *group("test"))
    folders = existing("packages/daisy-build/tests", "tests/test_dist.py")
    session.run("pytest", *(session.posargs or folders))


SCHEMAS = {
    "github-workflows": ".github/workflows/*.yml",
    "github-issue-config": ".github/ISSUE_TEMPLATE/config.yml",
    "github-issue-forms": ".github/ISSUE_TEMPLATE/[!c]*.yml",
    "dependabot": ".github/dependabot.yml",
    "citation-file-format": "CITATION.cff",
}


@nox.session
def workflows(session: nox.Session) -> None:
    """Check the GitHub workflows: schema, security, every name in them, and run their steps."""
    session.install(*group("workflows"), "nox", "pip")
    for schema, pattern in SCHEMAS.items():
        files = sorted(str(path.relative_to(ROOT)) for path in ROOT.glob(pattern))
        session.run("check-jsonschema", "--builtin-schema", f"vendor.{schema}", *files)
    session.run("zizmor", "--offline", "--no-progress", ".github")
    session.run("pytest", "tests/test_contract.py", *session.posargs)
    session.run("python", "-m", "contract.steps", env={"PYTHONPATH": str(ROOT / "tests")})


@nox.session
def docs(session: nox.Session) -> None:
    """Build the documentation into docs/_build/html, and run the code in it and in the examples."""
    build_docs(session, "test", "workflows")
    session.run("pytest", "-m", "", "tests/test_docs.py")


def build_docs(session: nox.Session, *groups: str) -> str:
    """Build the documentation with `groups` installed besides; a warning is an error."""
    install_editable(session, "demo", requirements=group("docs", "examples", *groups))
    session.install("-e", str(BACKEND))
    output = str(ROOT / "docs/_build/html")
    strict = ["--fail-on-warning", "--keep-going", "--nitpicky"]
    session.run("sphinx-build", *strict, "--builder=html", "docs", output, *session.posargs)
    return output


@nox.session
def look(session: nox.Session) -> None:
    """Look at the built documentation in a headless browser, on a desktop and on a phone."""
    browser = find_browser() or install_browser(session)
    if browser is None:
        session.skip(f"no page was looked at: none of {', '.join(BROWSERS)} is on PATH")
    html = build_docs(session, "look")
    session.run("python", "docs/look.py", browser, html, str(ROOT / "docs/_build/screenshots"))


@nox.session
def demo(session: nox.Session) -> None:
    """Segment a brain, block by block; arguments go to `daisy demo`."""
    install_editable(session, "demo", requirements=[])
    session.run("daisy", "demo", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """Measure daisy against daisy 2.0.0; arguments go to benchmarks/run.py."""
    session.install(".", *group("bench"))
    session.run("python", "benchmarks/run.py", *session.posargs)


@nox.session
def build(session: nox.Session) -> None:
    """Build wheel and sdist of daisy-py and daisy-build into dist/, and judge their contents."""
    session.install(*group("dist"))
    build_into(session, ROOT / "dist")
    session.run("python", "-m", "build", "--outdir", str(ROOT / "dist"), str(BACKEND))
    files = sorted((ROOT / "dist").iterdir())
    wheels = [str(path) for path in files if path.suffix == ".whl"]
    session.run("twine", "check", "--strict", *map(str, files))
    session.run("check-wheel-contents", *wheels)
    session.run("abi3audit", "--strict", *(wheel for wheel in wheels if "abi3" in wheel))


@nox.session(reuse_venv=False)
def test_wheel(session: nox.Session) -> None:
    """Test a wheel as an installed file (`-- FILE` or `-- FOLDER`; without, one is built)."""
    session.install(*group("dist"))
    wheel = given_file(session, ".whl")
    if wheel is None:
        (wheel,) = build_into(session, Path(session.create_tmp()).resolve() / "dist", "--wheel")
    session.install(f"daisy-py[demo] @ {wheel.as_uri()}", *group("test"))
    test_installed(session)


@nox.session(reuse_venv=False)
def test_sdist(session: nox.Session) -> None:
    """Build and install an sdist as pip does, and run a pipeline (`-- FILE`, `-- FOLDER`)."""
    session.install(*group("dist"))
    sdist = given_file(session, ".tar.gz")
    if sdist is None:
        (sdist,) = build_into(session, Path(session.create_tmp()).resolve() / "dist", "--sdist")
    session.install(f"daisy-py @ {sdist.as_uri()}")
    # The wheel that pip made is the one that `test_wheel` tests: here it has to build, and to run.
    session.chdir(session.create_tmp())
    session.run("python", str(ROOT / "tests/installed.py"))


@nox.session
def clients(session: nox.Session) -> None:
    """Run programs of libraries that use daisy on this daisy and on the published one; compare voxels."""
    session.install(*group("test"), "pip")
    where = Path(session.create_tmp()).resolve() / "environments"
    where.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(where / "wheel", ignore_errors=True)
    session.run("pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(where / "wheel"), ".")
    (wheel,) = (where / "wheel").iterdir()
    for name in ("", "-gunpowder"):
        requirements = group(f"clients{name}")
        client_environment(session, where / f"published{name}", PUBLISHED, *requirements)
        if name == "":
            requirements = client_requirements(session, requirements, where / "demands.txt")
        python = client_environment(session, where / f"ours{name}", str(wheel), *requirements)
        install = [str(python), "-m", "pip", "install", "--quiet", "--no-deps", "--force-reinstall"]
        session.run(*install, str(wheel), external=True)
        if name == "":
            session.run(*install, group("clients")[0], external=True)
    client_environment(session, where / "published-1", PUBLISHED_1)
    program = ROOT / "packages/daisy-py/tests/compat/clients/check_clients.py"
    session.run(
        "pytest",
        *(session.posargs or [str(program)]),
        env={"DAISY_CLIENT_ENVIRONMENTS": str(where)},
    )


# These have a real engine or none: `engines` tests them, which wants root and apt.
OF_ENGINES = "*/launchers/slurm.py,*/launchers/grid_engine.py"


@nox.session
def coverage(session: nox.Session) -> None:
    """Measure what the tests reach: branches of the Python package, lines of the Rust crate."""
    groups = group("test", "stores", "coverage")
    install_editable(session, "dask", "demo", "ray", requirements=groups)
    session.run("coverage", "erase")
    # The demo is not counted, and its tests are the longest.
    without = "--ignore-glob=*/test_demo*.py"
    measured = ["coverage", "run", "-m", "pytest", without, *session.posargs]
    session.run(*measured, "packages/daisy-py/tests")
    anywhere = ["-m", "engine and not soak", "-k", "lsf or pbs or dask or ray"]
    session.run(*measured, *anywhere, "packages/daisy-py/tests/engines")
    # Processes that a test kills leave torn files, which are told of and left out.
    session.run("coverage", "combine", "--quiet")
    report = ["coverage", "report", "--ignore-errors"]
    session.run(*report, f"--omit={OF_ENGINES}", "--fail-under=90")
    print("with what only `nox -s engines` reaches:", flush=True)
    session.run(*report, "--format=total")
    install_cargo_llvm_cov(session)
    cargo(session, "llvm-cov", "--package", "daisy-core", "--summary-only", **llvm_tools(session))


@nox.session
def minimums(session: nox.Session) -> None:
    """Run the Python tests with the lowest versions that daisy declares."""
    session.install("uv>=0.5")
    where = ["--python", str(Path(session.virtualenv.location)), "--resolution", "lowest-direct"]
    # The lowest matplotlib and zarr call what the newest of these, which they ask for, deprecate.
    beside = ["numcodecs>=0.16,<0.16.4", "pyparsing>=3.2,<3.3"]
    session.run("uv", "pip", "install", *where, "-e", ".[demo]", *group("test"), *beside)
    session.run("pytest", *(session.posargs or ["packages/daisy-py/tests"]))


@nox.session
def release_check(session: nox.Session) -> None:
    """Compare a tag (`-- v3.0.0`) with every version, the changelog and the fragments."""
    session.install(*group("workflows"))
    tag = session.posargs or [os.environ.get("GITHUB_REF_NAME", "")]
    session.run("python", "-m", "contract.release", *tag, env={"PYTHONPATH": str(ROOT / "tests")})


@nox.session(venv_backend="none")
def pages_check(session: nox.Session) -> None:
    """Say whether GitHub Pages would take the documentation (`-- FILE` with GitHub's reply)."""
    where = {"PYTHONPATH": str(ROOT / "tests/contract")}
    session.run("python", "-m", "pages", *session.posargs, env=where)


@nox.session
def two_hosts(session: nox.Session) -> None:
    """Test a driver and workers on hosts of their own: network namespaces (Linux, root, iproute2)."""
    as_root = run_as_root()
    if sys.platform != "linux" or as_root is None or shutil.which("ip") is None:
        reason = "two_hosts needs Linux, root (or sudo) and iproute2 (`ip`); nothing was tested"
        if "CI" in os.environ:
            session.error(reason)
        session.skip(reason)
    install_editable(session, requirements=group("test"))
    pytest = [f"{session.bin}/python", "-m", "pytest", "-m", "two_hosts"]
    where = session.posargs or ["packages/daisy-py/tests/two_hosts"]
    session.run(*as_root, *pytest, *where, external=True)


@nox.session
def engines(session: nox.Session) -> None:
    """Test workers on real engines on loopback: Slurm, Grid Engine (root, `apt-get` installs them), Dask, Ray."""
    wanted = {
        "sbatch": "slurm-client",
        "slurmctld": "slurmctld",
        "slurmd": "slurmd",
        "munged": "munge",
        "sge_qmaster": "gridengine-master",
        "sge_execd": "gridengine-exec",
        "qconf": "gridengine-client",
    }
    missing = [package for program, package in wanted.items() if shutil.which(program) is None]
    # The daemons of these engines are started as root.
    as_root = run_as_root()
    if as_root is None:
        session.error("engines needs root, or sudo")
    if missing and shutil.which("apt-get"):
        apt = [*as_root, "DEBIAN_FRONTEND=noninteractive", "apt-get", "--yes", "--quiet"]
        session.run(*apt, "update", external=True)
        session.run(*apt, "install", "--no-install-recommends", *missing, external=True)
    install_editable(session, "dask", "demo", "ray", requirements=group("test"))
    pytest = [f"{session.bin}/python", "-m", "pytest", "-m", "engine and not soak"]
    where = session.posargs or ["packages/daisy-py/tests/engines"]
    session.run(*as_root, *pytest, *where, external=True)


@nox.session
def soak(session: nox.Session) -> None:
    """Run the tests that take minutes: more property cases in Rust, the long ones in Python."""
    cargo(session, "test", "--release", "--quiet", "--package", "daisy-core", PROPTEST_CASES="5000")
    install_editable(session, "demo", requirements=[*group("test"), *backend_group("test")])
    session.run(
        "pytest",
        "-m",
        "soak",
        *(session.posargs or ["packages/daisy-py/tests"]),
        success_codes=[0, 5],
    )


if __name__ == "__main__":
    sys.exit("run this with nox: python -m pip install nox && nox -l")
