"""What can be sent to a worker, from where, and what is said of the rest."""

from __future__ import annotations

import functools
import sqlite3
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import daisy
import pytest
from python_scripts import PRELUDE, finish, run_script, start, write_script

ROI, BLOCK = daisy.Roi((0,), (60,)), daisy.Roi((0,), (10,))


def run(process: Any, **options: Any) -> daisy.RunResult:
    task = daisy.Task("t", ROI, BLOCK, BLOCK, process, read_write_conflict=False, **options)
    return daisy.run_blockwise(task, progress=False, summary=False)


def mark(folder: Path, block: daisy.Block) -> None:
    (folder / str(block.block_id[1])).write_text("")


class Marker:
    """A callable with state."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, block: daisy.Block) -> None:
        mark(self.folder, block)

    def process(self, block: daisy.Block) -> None:
        mark(self.folder, block)

    @classmethod
    def of_class(cls, block: daisy.Block) -> None:
        assert cls.__name__ == "Marker"


def decorated(function: Any) -> Any:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


def with_global_daisy(block: Any) -> None:
    block.status = daisy.BlockStatus.SUCCESS


def test_functions_of_every_kind_reach_a_worker(tmp_path: Path) -> None:
    factor = 3

    @decorated
    def wrapped(block: daisy.Block) -> None:
        mark(tmp_path, block)

    def closure(block: daisy.Block, default: int = 2) -> None:
        assert factor * default == 6
        mark(tmp_path, block)

    kinds = {
        "lambda": lambda block: mark(tmp_path, block),
        "closure": closure,
        "partial": functools.partial(mark, tmp_path),
        "object": Marker(tmp_path),
        "method": Marker(tmp_path).process,
        "decorated": wrapped,
    }
    for name, function in kinds.items():
        for old in tmp_path.iterdir():
            old.unlink()
        assert run(function), name
        assert len(list(tmp_path.iterdir())) == 6, name
    assert run(Marker.of_class)
    assert run(with_global_daisy)


def test_what_cannot_be_sent_is_named_before_anything_starts(tmp_path: Path) -> None:
    database = sqlite3.connect(":memory:")

    def process(block: daisy.Block) -> None:
        database.execute("select 1")
        (tmp_path / "ran").write_text("")

    with pytest.raises(daisy.errors.SerializationError) as raised:
        run(process)
    message = str(raised.value)
    assert "'t'" in message
    assert "'database'" in message
    assert "worker_processes=False" in message
    assert not (tmp_path / "ran").exists()
    assert isinstance(raised.value, RuntimeError)
    database.close()


def test_threads_take_what_cannot_be_sent() -> None:
    lock, seen = threading.Lock(), []
    local = threading.local()

    def process(block: daisy.Block) -> None:
        local.block = block
        with lock:
            seen.append(block.block_id[1])

    task = daisy.Task("t", ROI, BLOCK, BLOCK, process, max_workers=3)
    assert daisy.run_blockwise(task, worker_processes=False, progress=False, summary=False)
    assert sorted(seen) == list(range(6))


def test_modules_are_never_copied(tmp_path: Path) -> None:
    """A module with things that cannot be pickled at its top level goes by reference, wherever it lies."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "awkward.py").write_text(
        textwrap.dedent(
            """
            import struct, threading

            STATE = threading.local()
            HEADER = struct.Struct("<I")
            LOCK = threading.RLock()

            class Thing:
                def __call__(self, block):
                    assert type(self) is Thing

            def process(block):
                with LOCK:
                    STATE.value = HEADER.size
            """
        )
    )
    run_script(
        tmp_path,
        """
        import functools, sys
        sys.path.insert(0, "lib")
        import awkward

        def use_module(block):
            awkward.process(block)

        def check_identity(thing, block):
            assert type(thing) is awkward.Thing

        if __name__ == "__main__":
            for function in (awkward.process, use_module, awkward.Thing(),
                             functools.partial(check_identity, awkward.Thing())):
                daisy.run_blockwise(task(function), progress=False).raise_for_failures()
        """,
    )


UNGUARDED = """
import threading
lock = threading.Lock()
local = threading.local()
count = open("imports", "a")
count.write("x")
count.flush()

class Helper:
    def __init__(self):
        self.value = 7

def process(block):
    with lock:
        local.value = Helper().value
        assert local.value == 7

print(daisy.run_blockwise(task(process, max_workers=2), progress=False))
open("after", "a").write("x")
"""


def test_a_script_with_locks_and_no_guard_runs_once(tmp_path: Path) -> None:
    """Workers import the script anew, only up to its run: no storm of processes, no second run."""
    done = run_script(tmp_path, UNGUARDED)
    assert "succeeded: t: 6/6" in done.stdout
    assert (tmp_path / "after").read_text() == "x"
    # The driver, the process that workers would be forked from if no file were open, two workers.
    assert len((tmp_path / "imports").read_text()) <= 4


def test_a_script_with_a_guard(tmp_path: Path) -> None:
    body = UNGUARDED.replace("print(daisy", "def main():\n    print(daisy").replace(
        'open("after", "a").write("x")', ""
    )
    done = run_script(tmp_path, body + "\nif __name__ == '__main__':\n    main()\n")
    assert "succeeded: t: 6/6" in done.stdout


def test_code_without_a_file(tmp_path: Path) -> None:
    code = PRELUDE + "print(daisy.run_blockwise(task(lambda block: None), progress=False))"
    done = finish(start(["-c", code], tmp_path))
    assert "succeeded" in done.stdout
    piped = subprocess.run(
        [sys.executable, "-"],
        input=code,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "succeeded" in piped.stdout


def test_a_module_run_as_a_program(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("")
    write_script(
        tmp_path / "package",
        """
        import threading
        local = threading.local()

        def process(block):
            local.value = block

        if __name__ == "__main__":
            print(daisy.run_blockwise(task(process), progress=False))
        """,
        "program.py",
    )
    done = finish(start(["-m", "package.program"], tmp_path))
    assert "succeeded" in done.stdout


def test_a_file_named_like_a_standard_module_in_the_current_folder(tmp_path: Path) -> None:
    """Workers do not import from the current folder unless the driver does."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "work").mkdir()
    for name in ("queue", "struct", "marshal", "signal", "logging"):
        (tmp_path / "work" / f"{name}.py").write_text("raise SystemExit('the wrong module')")
    script = write_script(
        tmp_path / "elsewhere",
        "print(daisy.run_blockwise(task(lambda block: None), progress=False))",
    )
    done = finish(start([str(script)], tmp_path / "work"))
    assert "succeeded" in done.stdout
