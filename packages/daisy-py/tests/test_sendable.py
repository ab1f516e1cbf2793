"""Objects that belong to one process: what a worker gets instead, and what is said of the rest."""

from __future__ import annotations

import concurrent.futures
import functools
import importlib.util
import logging
import multiprocessing
import pickle
import socket
import struct
import subprocess
import sys
import threading
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import daisy
import dill
import pytest
from python_scripts import run_script
from quiet_runs import blocks, run

MAKERS: dict[str, Callable[[], Any]] = {
    "an open file": lambda: open(__file__),
    "an open file (": lambda: open(__file__, "rb", buffering=0),
    "a socket": socket.socket,
    "a thread": lambda: threading.Thread(target=print),
    "a generator": lambda: (number for number in range(3)),
    "a process": lambda: subprocess.Popen([sys.executable, "-c", ""], stdin=subprocess.DEVNULL),
    "a process (": lambda: multiprocessing.get_context("spawn").Process(target=print, name="p"),
    "a pool of workers": lambda: concurrent.futures.ThreadPoolExecutor(1),
}


@pytest.fixture(params=MAKERS)
def own(request: pytest.FixtureRequest) -> Iterator[tuple[str, Any]]:
    """Something of this process's own, and what it is called."""
    thing = MAKERS[request.param]()
    yield request.param, thing
    for end in ("wait", "close", "shutdown"):
        if hasattr(thing, end):
            getattr(thing, end)()
            break


def refused(function: Any) -> str:
    """What is said of a function that no worker may ever run."""
    with pytest.raises(daisy.errors.SerializationError) as raised:
        run(blocks(2, function))
    text = str(raised.value)
    assert "the function of task 't' cannot be sent" in text
    for way in ("inside the function", "a module", "worker_processes=False"):
        assert way in text
    return text


class Holder:
    def __init__(self, thing: object) -> None:
        self.thing = thing

    def __call__(self, block: daisy.Block) -> None:
        assert self.thing is None, "must not run"

    def method(self, block: daisy.Block) -> None:
        assert self.thing is None, "must not run"


def test_things_of_one_process_are_named_wherever_they_are(own: tuple[str, Any]) -> None:
    what, thing = own

    def in_closure(block: daisy.Block) -> None:
        assert thing is None, "must not run"

    def in_default(block: daisy.Block, given: object = thing) -> None:
        assert given is None, "must not run"

    def in_keyword(block: daisy.Block, *, given: object = thing) -> None:
        assert given is None, "must not run"

    nested = {"deep": [thing]}

    def in_container(block: daisy.Block) -> None:
        assert nested is None, "must not run"

    assert f"variable 'thing' of the closure is {what}" in refused(in_closure)
    assert f"default 0 is {what}" in refused(in_default)
    assert f"default of 'given' is {what}" in refused(in_keyword)
    assert f"variable 'nested' of the closure holds {what}" in refused(in_container)
    assert f"attribute 'thing' of Holder is {what}" in refused(Holder(thing))
    assert f"attribute 'thing' of Holder is {what}" in refused(Holder(thing).method)
    partial = functools.partial(in_default, given=thing)
    assert f"argument 'given' of the partial is {what}" in refused(partial)


def test_a_global_of_a_script_is_named_and_the_script_is_not_run_again(tmp_path: Path) -> None:
    """To import the script anew in a worker would empty the file."""
    done = run_script(
        tmp_path,
        """
        table = open("table.txt", "w")
        table.write("header")
        table.flush()

        def process(block):
            table.write("row")

        if __name__ == "__main__":
            try:
                daisy.run_blockwise(task(process), progress=False)
            except daisy.errors.SerializationError as error:
                print(error)
        table.close()
        """,
    )
    assert "global 'table' is an open file ('table.txt')" in done.stdout
    assert (tmp_path / "table.txt").read_text() == "header"


def test_standard_streams_are_those_of_the_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run_script(
        tmp_path,
        """
        import sys
        out = sys.stdout

        def process(block, err=sys.stderr):
            print("to out", file=out)
            print("to err", file=err)

        if __name__ == "__main__":
            daisy.run_blockwise(task(process, count=1), progress=False).raise_for_failures()
        """,
    )
    assert (tmp_path / "daisy_logs/t/worker_0.out").read_text() == "to out\n"
    assert (tmp_path / "daisy_logs/t/worker_0.err").read_text() == "to err\n"


def test_each_worker_has_locks_of_its_own_and_one_warning_says_so(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    """A lock that is held where it is sent from is free where it arrives."""
    held, again, ready = threading.Lock(), threading.RLock(), threading.Condition()
    local = threading.local()
    local.value = "of the driver"
    held.acquire()

    def process(block: daisy.Block) -> None:
        assert not hasattr(local, "value") or local.value == "of the worker"
        local.value = "of the worker"
        with held, again, again, ready:
            ready.notify_all()
        (tmp_path / str(block.block_id[1])).touch()

    run(blocks(6, process, max_workers=2)).raise_for_failures()
    assert len(list(tmp_path.iterdir())) == 6
    (text,) = [text for text in caplog.messages if "a lock of its own" in text]
    for name in ("held", "again", "ready"):
        assert f"variable {name!r} of the closure" in text
    assert "'local'" not in text


def test_one_lock_stays_one_lock(tmp_path: Path) -> None:
    """Two functions of a script that share a lock and a thread-local still share them in the worker."""
    run_script(
        tmp_path,
        """
        import threading
        LOCK, LOCAL = threading.Lock(), threading.local()

        def helper():
            assert LOCK.locked()
            return LOCAL.value

        def process(block):
            LOCAL.value = block.block_id[1]
            with LOCK:
                assert helper() == block.block_id[1]

        if __name__ == "__main__":
            daisy.run_blockwise(task(process), progress=False).raise_for_failures()
        """,
    )


SYNTHETIC = """
import struct, threading
STATE = threading.local()
HEADER = struct.Struct("<IH")
LOCK = threading.RLock()

class Thing:
    size = HEADER.size

    def __call__(self, block):
        with LOCK:
            STATE.value = HEADER.pack(1, 2)
        assert len(STATE.value) == self.size == 6

def process(block):
    with LOCK:
        STATE.value = HEADER.pack(1, 2)
    assert len(STATE.value) == HEADER.size == Thing.size
"""


@pytest.fixture(params=["without a file", "outside of sys.path"])
def synthetic(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[types.ModuleType]:
    """A module that no fresh interpreter finds, so that everything in it goes by value."""
    if request.param == "without a file":
        module = types.ModuleType("synthetic")
        exec(SYNTHETIC, vars(module))
    else:
        path = tmp_path / "synthetic.py"
        path.write_text(SYNTHETIC)
        spec = importlib.util.spec_from_file_location("synthetic", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    sys.modules["synthetic"] = module
    yield module
    del sys.modules["synthetic"]


def test_a_module_that_goes_by_value(synthetic: Any) -> None:
    """Thread-locals, layouts and locks at its top level are no obstacle."""

    def uses_module(block: daisy.Block) -> None:
        synthetic.process(block)

    for function in (synthetic.process, synthetic.Thing(), uses_module):
        run(blocks(3, function)).raise_for_failures()


def test_the_thread_locals_of_daisy_can_be_pickled_anyhow() -> None:
    """A second line of defence against picklers that copy modules: what arrives is fresh and empty."""
    from daisy import _context
    from daisy import logging as daisy_logging

    daisy_logging.set_slot_files(None, None)
    for module in (daisy_logging, _context):
        for pickler in (pickle, dill):
            copy = pickler.loads(pickler.dumps(module._of_thread))
            assert type(copy) is type(module._of_thread)
            assert vars(copy) == {}


def test_other_objects_are_sent_as_they_are() -> None:
    """What can be pickled is, and what pickles itself is asked to."""

    class Reopening:
        def __init__(self) -> None:
            self.file = open(__file__)

        def __reduce__(self) -> tuple[Any, ...]:
            return (dict, ())

    reopening, logger, layout = Reopening(), logging.getLogger("mine"), struct.Struct("<I")
    nothing, buffer = None, __import__("io").BytesIO(b"ab")

    def process(block: daisy.Block) -> None:
        assert isinstance(reopening, dict)
        assert logger.name == "mine"
        assert (layout.size, nothing, buffer.getvalue()) == (4, None, b"ab")

    run(blocks(2, process)).raise_for_failures()
    reopening.file.close()
