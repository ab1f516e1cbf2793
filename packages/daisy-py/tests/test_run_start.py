"""How a run with worker processes begins: what is started ahead, what is sent, who comes too late."""

from __future__ import annotations

import marshal
import os
import subprocess
import sys
from pathlib import Path

import daisy
import pytest
from daisy.worker import BOOTSTRAP
from python_scripts import run_script
from quiet_runs import blocks, run

only_linux = pytest.mark.skipif(sys.platform != "linux", reason="it looks into /proc")


class Late:
    """Its worker with an odd number comes when the run is over."""

    def __setstate__(self, state: object) -> None:
        context = daisy.Context.from_env()
        while int(context["worker_id"]) % 2 and os.path.exists(context["token_file"]):
            os.sched_yield()

    def __getstate__(self) -> int:
        return 1

    def __call__(self, block: daisy.Block) -> None:
        pass


def test_a_worker_that_comes_too_late_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAISY_WORKER_START", "spawn")
    monkeypatch.chdir(tmp_path)
    daisy.logging.set_log_basedir(tmp_path)
    run(blocks(5, Late(), max_workers=2)).raise_for_failures()
    assert [path.read_text() for path in tmp_path.rglob("worker_*.err")] == ["", ""]


def test_functions_of_a_script_need_no_dill_in_workers(tmp_path: Path) -> None:
    script = """
        import sys
        import numpy
        FACTOR = 3

        def scaled(x, *, by=2):
            "Of another function."
            return numpy.float64(x * by * FACTOR)

        def make(offset):
            def process(block, limit: int = 7) -> None:
                value = scaled(offset)
                assert value == 6 * offset and limit == 7, value
                assert eval("FACTOR") == 3
                assert process.__annotations__ == {"limit": int, "return": None}, process.__annotations__
                assert scaled.__doc__ == "Of another function." and scaled.__kwdefaults__ == {"by": 2}
                assert sys.modules.get("dill") is None, "dill was imported"
            return process

        for function in (make(4), lambda block: make(5)(block)):
            daisy.run_blockwise(task(function), progress=False, summary=False).raise_for_failures()
    """
    for way in ("fork", "spawn"):
        run_script(tmp_path, script, DAISY_WORKER_START=way)


def test_code_that_no_compiler_makes_is_sent_all_the_same(tmp_path: Path) -> None:
    script = """
        class Odd:
            pass

        def process(block):
            assert type("a constant").__name__ == "Odd"

        constants = tuple(Odd() if c == "a constant" else c for c in process.__code__.co_consts)
        process.__code__ = process.__code__.replace(co_consts=constants)
        daisy.run_blockwise(task(process), progress=False, summary=False).raise_for_failures()
    """
    run_script(tmp_path, script)


def test_an_interpreter_of_another_version_says_so() -> None:
    header = marshal.dumps({"path": ["/nowhere"], "python": "2.7"})
    worker = subprocess.run(
        [sys.executable, "-P", "-c", BOOTSTRAP],
        input=len(header).to_bytes(8, "big") + header,
        capture_output=True,
        check=False,
    )
    here = ".".join(map(str, sys.version_info[:2]))
    said = worker.stderr.decode()
    assert worker.returncode == 1
    assert (
        f"this worker runs Python {here} ({sys.executable}), expected 2.7 as in the driver" in said
    )
    assert "give the launcher python=..." in said


def children() -> str:
    """Process ids of the children of this thread that were not waited for."""
    return Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text()


@only_linux
def test_a_run_that_is_refused_leaves_no_process() -> None:
    def of_file(block: daisy.Block) -> None:
        print(file)

    before = children()
    with open(os.devnull) as file, pytest.raises(daisy.errors.SerializationError):
        run(blocks(1, of_file))
    with pytest.raises(ValueError, match="progress"):
        daisy.run_blockwise(blocks(1, print), progress="no such")
    with pytest.raises(daisy.errors.AddressError):
        run(blocks(1, print), host="203.0.113.1")
    assert children() == before


@only_linux
def test_what_init_sets_is_there_in_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OF_INIT", raising=False)

    def process(block: daisy.Block) -> None:
        assert os.environ["OF_INIT"] == "here"

    with pytest.warns(DeprecationWarning, match="init_callback_fn"):
        task = blocks(
            4, process, init_callback_fn=lambda context: os.environ.update(OF_INIT="here")
        )
    run(task).raise_for_failures()
