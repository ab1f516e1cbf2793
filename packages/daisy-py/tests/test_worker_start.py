"""Workers that are forked from a clean process, and those that are interpreters of their own."""

from __future__ import annotations

import os
import signal
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import daisy
import pytest
from daisy.testing import launcher_conformance
from quiet_runs import blocks, run

WAYS = ["fork", "spawn"]
only_linux = pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux only")


def meet(folder: Path, count: int, name: str) -> None:
    """Leave a file, and wait until so many workers did."""
    (folder / name).touch()
    while len(list(folder.glob(f"{name.partition('-')[0]}-*"))) < count:
        threading.Event().wait(0.01)


class Told:
    """A block function that leaves what it is told to say, one file for each worker; all workers take part."""

    def __init__(self, folder: Path, workers: int, expression: str, module: str = "") -> None:
        self.folder, self.workers = folder, workers
        self.expression, self.module = expression, module

    def __call__(self, block: daisy.Block) -> None:
        worker = daisy.Context.from_env()["worker_id"]
        if (self.folder / f"here-{worker}").exists():
            return
        meet(self.folder, self.workers, f"here-{worker}")
        if self.module:
            __import__(self.module)
        value = eval(self.expression, {"os": os, "sys": sys, "daisy": daisy})
        (self.folder / f"said-{worker}").write_text(str(value))

    def said(self) -> list[str]:
        return [path.read_text() for path in self.folder.glob("said-*")]


@pytest.mark.parametrize("way", WAYS)
def test_every_check_of_a_launcher_holds(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAISY_WORKER_START", way)
    launcher_conformance("process")


def test_a_way_that_does_not_exist_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAISY_WORKER_START", "clone")
    with pytest.raises(ValueError, match=r"DAISY_WORKER_START is 'fork' or 'spawn'; got 'clone'"):
        run(blocks(1, lambda block: None))


def write_module(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module that notes each process that imports it, and its function `process`."""
    name = f"imported_{abs(hash(str(folder)))}"
    (folder / f"{name}.py").write_text(
        textwrap.dedent(
            f"""
            import os
            note = os.open({str(folder / "imports")!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.write(note, b"%d\\n" % os.getpid())
            os.close(note)
            """
        )
        + textwrap.dedent(text)
    )
    monkeypatch.syspath_prepend(str(folder))
    return name


class Using(Told):
    """One that needs a module as soon as it is unpickled."""

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        __import__(self.module)


def importers(folder: Path) -> list[int]:
    return [int(pid) for pid in (folder / "imports").read_text().split()]


@only_linux
def test_modules_are_imported_once_for_all_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = write_module(tmp_path, "", monkeypatch)
    using = Using(tmp_path, 4, "os.getppid()", module)
    run(blocks(20, using, max_workers=4)).raise_for_failures()
    parents = {int(parent) for parent in using.said()}
    assert len(using.said()) == 4
    assert importers(tmp_path) == list(parents)
    assert os.getpid() not in parents


def test_each_worker_is_an_interpreter_if_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAISY_WORKER_START", "spawn")
    module = write_module(tmp_path, "", monkeypatch)
    using = Using(tmp_path, 2, "os.getppid()", module)
    run(blocks(20, using, max_workers=2)).raise_for_failures()
    assert {int(parent) for parent in using.said()} == {os.getpid()}
    assert len(importers(tmp_path)) == 2


UNSAFE = {
    "thread": "import threading; threading.Thread(target=threading.Event().wait, daemon=True).start()",
    "file": "kept = open(__file__)",
    "pipe": "ends = os.pipe()",
    "generator": "import random; own = random.Random()",
    "numpy generator": "import numpy; own = numpy.random.default_rng()",
    "who": "import daisy\ntry:\n    daisy.Context.from_env()\nexcept KeyError:\n    pass",
    "error": "if 'worker-' not in str(__import__('sys').argv): raise RuntimeError('not here')",
    "exit": "if 'worker-' not in str(__import__('sys').argv): raise SystemExit(3)",
    "death": "if 'worker-' not in str(__import__('sys').argv): os._exit(3)",
}


@pytest.mark.parametrize("what", UNSAFE)
def test_what_cannot_be_forked_gets_an_interpreter(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Threads, open files, random generators and the like would not be each worker's own."""
    caplog.set_level("DEBUG", "daisy")
    module = write_module(tmp_path, UNSAFE[what], monkeypatch)
    using = Using(tmp_path, 2, "os.getppid()", module)
    result = run(blocks(10, using, max_workers=2))
    result.raise_for_failures()
    assert {int(parent) for parent in using.said()} == {os.getpid()}
    assert result.states["t"].worker_failure_count == 0
    if sys.platform == "linux":
        (told,) = [text for text in caplog.messages if "an interpreter of its own" in text]
        expected = {"file": module, "exit": "SystemExit", "error": "not here"}
        assert expected.get(what, "") in told


@only_linux
def test_threads_of_numerical_libraries_are_no_obstacle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OpenBLAS ends its threads when a fork begins."""
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")
    module = write_module(
        tmp_path, "import numpy; numpy.ones((4, 4)) @ numpy.ones((4, 4))", monkeypatch
    )
    product = "__import__('numpy').eye(500) @ ([1] * 500) is None"
    using = Using(tmp_path, 2, f"os.getppid(), {product}", module)
    run(blocks(10, using, max_workers=2)).raise_for_failures()
    assert os.getpid() not in {int(said.strip("()").split(",")[0]) for said in using.said()}


@pytest.mark.parametrize("way", WAYS)
def test_random_numbers_differ_between_workers(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAISY_WORKER_START", way)
    module = write_module(tmp_path, "import random, numpy", monkeypatch)
    draw = "__import__('random').random(), __import__('numpy').random.random()"
    using = Using(tmp_path, 3, draw, module)
    run(blocks(10, using, max_workers=3)).raise_for_failures()
    drawn = [said.strip("()").split(", ") for said in using.said()]
    assert len({first for first, _ in drawn}) == 3
    assert len({second for _, second in drawn}) == 3


@pytest.mark.parametrize("way", WAYS)
def test_each_worker_has_its_own_log_and_name(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAISY_WORKER_START", way)
    monkeypatch.chdir(tmp_path)
    told = Told(tmp_path, 3, "print('I am', os.getpid()) or os.getpid()")
    run(blocks(20, told, max_workers=3)).raise_for_failures()
    for path in tmp_path.glob("said-*"):
        worker = path.name.removeprefix("said-")
        log = tmp_path / "daisy_logs" / "t" / f"worker_{worker}.out"
        assert log.read_text() == f"I am {path.read_text()}\n"


@only_linux
def test_one_process_forks_the_workers_of_a_long_chain(tmp_path: Path) -> None:
    """A task is not one start of an interpreter."""

    def task(number: int) -> daisy.Task:
        def process(block: daisy.Block) -> None:
            (tmp_path / f"parent-{number}").write_text(str(os.getppid()))

        return blocks(1, process, task_id=f"t{number}", max_workers=1)

    tasks = [task(number) for number in range(25)]
    pipeline: Any = tasks[0]
    for each in tasks[1:]:
        pipeline = pipeline | each
    run(pipeline).raise_for_failures()
    parents = {path.read_text() for path in tmp_path.glob("parent-*")}
    assert len(list(tmp_path.glob("parent-*"))) == 25
    assert len(parents) == 1


@only_linux
def test_limits_of_threads_are_there_before_numpy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tasks with other limits are forked from another process."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(4)))
    parents = {}
    for workers in (1, 4):
        folder = tmp_path / str(workers)
        folder.mkdir()
        module = write_module(
            folder, "import numpy; limit = os.environ['OMP_NUM_THREADS']", monkeypatch
        )
        said = f"sys.modules[{module!r}].limit, os.environ['OMP_NUM_THREADS'], os.getppid()"
        using = Using(folder, workers, said, module)
        run(blocks(20, using, max_workers=workers)).raise_for_failures()
        for limits in using.said():
            imported, now, parent = limits.strip("()").split(", ")
            assert imported == now == f"'{4 // workers}'"
            parents[workers] = parent
    assert parents[1] != parents[4]


@only_linux
def test_the_death_of_the_process_that_forks_is_survived(tmp_path: Path) -> None:
    """Its workers end with it; those that replace them are interpreters."""

    def process(block: daisy.Block) -> None:
        mark = tmp_path / "killed"
        if block.block_id[1] == 3 and not mark.exists():
            mark.write_text(str(os.getppid()))
            os.kill(os.getppid(), signal.SIGKILL)
            signal.pause()

    result = run(blocks(10, process, max_workers=2))
    assert result, result.errors
    assert result.states["t"].worker_failure_count >= 1
    assert "SIGKILL" in str(result.states["t"].last_worker_error)


@pytest.mark.parametrize("way", WAYS)
def test_what_is_left_open_is_written(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The end of a worker is that of an interpreter: functions at exit are called, files are flushed."""
    monkeypatch.setenv("DAISY_WORKER_START", way)

    def process(block: daisy.Block) -> None:
        import atexit
        import builtins

        file = open(tmp_path / "buffered", "w")
        builtins.kept_by_the_test = file  # type: ignore[attr-defined]
        file.write("all of it")
        atexit.register((tmp_path / "at-exit").write_text, "called")

    run(blocks(1, process, max_workers=1)).raise_for_failures()
    assert (tmp_path / "buffered").read_text() == "all of it"
    assert (tmp_path / "at-exit").read_text() == "called"


@only_linux
def test_imports_of_a_function_are_done_ahead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it imports before it decides anything is there when a worker is forked."""
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    first = write_module(tmp_path / "a", "", monkeypatch)
    second = write_module(tmp_path / "b", "", monkeypatch)
    code = f"def process(block):\n import {first}\n if block.block_id[1] < 0:\n  import {second}\n"
    space: dict[str, object] = {"__name__": "__main__"}
    exec(code, space)
    run(blocks(10, space["process"], max_workers=2)).raise_for_failures()
    assert len(importers(tmp_path / "a")) == 1
    assert not (tmp_path / "b" / "imports").exists()
