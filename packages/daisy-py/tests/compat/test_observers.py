"""Servers and observers of daisy 1.x."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import daisy
import pytest
from faults.program import run_well

BOX = daisy.Roi((0,), (10,))
TOTAL = daisy.Roi((0,), (50,))

PROGRAM = """
import warnings

warnings.simplefilter("ignore", DeprecationWarning)
from daisy.cl_monitor import CLMonitor
from daisy.server_observer import ServerObserver

class Observer(ServerObserver):
    def __init__(self, server):
        super().__init__(server)
        self.heard = []

    def on_task_start(self, task_id, task_state):
        self.heard.append(f"start {task_id}")

    def on_acquire_block(self, task_id, task_state):
        self.heard.append(f"acquire {task_id}")

    def on_release_block(self, task_id, task_state):
        self.heard.append(f"release {task_id}")

    def on_task_done(self, task_id, task_state):
        self.heard.append(f"done {task_id} {task_state.is_done()}")

    def on_block_failure(self, block, exception, context):
        has_cause = "deliberate" in str(exception)
        self.heard.append(f"failure {block.block_id[1]} {block.write_roi.begin[0]} {has_cause}")
        assert int(context["worker_id"]) >= 0

    def on_server_exit(self):
        self.heard.append("exit")

def function(block):
    if block.block_id[1] == 3:
        raise ValueError("deliberate")

contexts = []
task = line("t", 5, function, num_workers=2, max_retries=1, init_callback_fn=contexts.append)
server = daisy.Server()
monitor, observer = CLMonitor(server), Observer(server)
states = server.run_blockwise([task], progress=False)
assert [context["task_id"] for context in contexts] == ["t"]
quiet = line("t", 1, print, init_callback_fn=contexts.append)
assert daisy.run_blockwise([quiet], multiprocessing=False, progress=False, summary=False)
assert len(contexts) == 1  # a serial run starts no workers: daisy 1.2.3 does not call it either
print(json.dumps(observer.heard))
"""


def test_observers_of_a_server(tmp_path: Path) -> None:
    heard = json.loads(run_well(tmp_path, PROGRAM))
    assert heard[0] == "start t"
    assert heard[-1] == "exit"
    assert Counter(heard) == {
        "start t": 1,
        "acquire t": 6,
        "release t": 6,
        "failure 3 30 True": 2,
        "done t True": 1,
        "exit": 1,
    }


def test_all_blocks_failing_is_answered_like_one_failing(tmp_path: Path) -> None:
    program = """
    def function(block):
        raise ValueError("deliberate")

    for blocks in (1, 40, 120):
        result = daisy.run_blockwise(line("t", blocks, function, max_workers=2), progress=False)
        state = result.states["t"]
        assert not result
        assert state.failed_count + state.orphaned_count == blocks
    print("answered")
    """
    assert run_well(tmp_path, program) == "answered"


class Counting:
    """An observer without a base class, and without most of the methods."""

    def __init__(self) -> None:
        self.released = 0

    def on_release_block(self, task_id: str, task_state: daisy.TaskState) -> None:
        self.released += 1


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_observers_of_a_serial_server() -> None:
    server: Any = getattr(daisy, "SerialServer")()  # noqa: B009 - it has no annotations any more
    observer, silent = Counting(), Counting()
    server.register_observer(observer)
    server.register_observer(silent)
    server.unregister_observer(silent)
    states = server.run_blockwise([daisy.Task("t", TOTAL, BOX, BOX, lambda block: None)])
    assert states["t"].completed_count == 5
    assert (observer.released, silent.released) == (5, 0)


def test_a_worker_of_1_x(tmp_path: Path) -> None:
    program = """
    import warnings

    warnings.simplefilter("ignore", DeprecationWarning)

    def function():
        context = daisy.Context.from_env()
        note(".", f"worker-{context['greeting']}-{os.getpid() != parent}")

    parent = os.getpid()
    worker = daisy.Worker(function, daisy.Context(greeting="hello"))
    worker._process.wait(60)
    print(worker.returncode)
    """
    assert run_well(tmp_path, program) == "0"
    assert (tmp_path / "worker-hello-True").exists()


def test_a_pool_of_1_x(tmp_path: Path) -> None:
    program = """
    import warnings

    warnings.simplefilter("ignore", DeprecationWarning)

    def function():
        threading.Event().wait(60)

    pool = daisy.WorkerPool(function)
    pool.set_num_workers(3)
    workers = list(pool.workers.values())
    pool.set_num_workers(1)
    pool.check_for_errors()
    left = len(pool.workers)
    pool.stop()
    print(left, [worker.returncode is None for worker in workers])
    """
    assert run_well(tmp_path, program) == "1 [False, False, False]"
