"""The public names and signatures that programs for daisy 2.0.0 and 1.x rely on."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import daisy
import funlib.geometry
import pytest

EMPTY = inspect.Parameter.empty

# Name, positional order and defaults as in daisy 2.0.0. Deviations are in docs/reference/compatibility.md.
SIGNATURES: dict[str, dict[str, Any]] = {
    "Task": {
        "task_id": EMPTY,
        "total_roi": EMPTY,
        "read_roi": EMPTY,
        "write_roi": EMPTY,
        "process_function": None,
        "check_function": None,
        "read_write_conflict": True,
        "fit": "valid",
        "max_workers": 1,
        "max_retries": 2,
        "timeout": None,
        "done_marker_path": None,
        "resource_tracking": False,
        "requires": None,
        "max_worker_restarts": 10,
        "skip_mask": None,
    },
    "run_blockwise": {
        "pipeline": EMPTY,
        "multiprocessing": True,
        "resources": None,
        "progress": True,
        "block_tracking": True,
        "return_states": False,
        "host": None,
        "summary": True,
    },
    "Pipeline": {"tasks": None, "edges": None},
    "Server": {"stop_event": None},
    "Client": {"context": None},
    "JsonProgressObserver": {"path": None, "stream": None},
    "get_worker_log_basename": {"worker_id": EMPTY, "task_id": None},
    "set_tracking_basedir": {"path": EMPTY},
    "get_tracking_basedir": {},
    "profile_block": {"block": EMPTY},
    "Block": {
        "total_roi": EMPTY,
        "read_roi": EMPTY,
        "write_roi": EMPTY,
        "task_id": None,
        "block_id": None,
    },
    "BlockwiseDependencyGraph": {
        "task_id": EMPTY,
        "read_roi": EMPTY,
        "write_roi": EMPTY,
        "read_write_conflict": EMPTY,
        "fit": EMPTY,
        "total_read_roi": None,
    },
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_signatures(name: str) -> None:
    parameters = [
        parameter
        for parameter in inspect.signature(getattr(daisy, name)).parameters.values()
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
    ]
    expected = SIGNATURES[name]
    found = {parameter.name: parameter.default for parameter in parameters}
    assert list(found)[: len(expected)] == list(expected)
    assert {key: found[key] for key in expected} == expected


def test_public_names() -> None:
    assert daisy.__all__ == sorted(daisy.__all__)
    for name in daisy.__all__:
        assert getattr(daisy, name) is not None
        assert name in dir(daisy)
    assert daisy.Roi is funlib.geometry.Roi
    assert daisy.Coordinate is funlib.geometry.Coordinate
    with pytest.raises(AttributeError, match="nothing"):
        daisy.nothing  # noqa: B018


FORMER_NAMES = [
    "SerialServer",
    "Worker",
    "WorkerPool",
    "expand_roi_to_grid",
    "expand_write_roi_to_grid",
    "get_done_marker_basedir",
    "redirect_stdouterr",
    "set_done_marker_basedir",
]
MODULES = [
    "block",
    "blocks",
    "cl_monitor",
    "client",
    "context",
    "convenience",
    "coordinate",
    "dependency_graph",
    "freezable",
    "logging",
    "roi",
    "scheduler",
    "serial_server",
    "server",
    "server_observer",
    "task",
    "task_state",
    "v1_compat",
    "v2",
    "worker",
    "worker_pool",
]


@pytest.mark.parametrize("name", FORMER_NAMES)
def test_names_of_daisy_1(name: str) -> None:
    assert getattr(daisy, name) is not None


@pytest.mark.filterwarnings("ignore:the module daisy:DeprecationWarning")
@pytest.mark.parametrize("name", MODULES)
def test_modules_of_daisy_1_and_2(name: str) -> None:
    importlib.import_module(f"daisy.{name}")


@pytest.mark.filterwarnings("ignore:the module daisy:DeprecationWarning")
def test_observers_of_daisy_1_hear_of_runs() -> None:
    from daisy._compat.server import ServerObserver as Annotated

    observers = importlib.import_module("daisy.server_observer")  # which no type checker finds
    assert observers.ServerObserver is Annotated
    heard: list[str] = []

    class Observer(Annotated):
        def on_task_start(self, task_id: str, task_state: Any) -> None:
            heard.append(f"start {task_id}")

        def on_task_done(self, task_id: str, task_state: Any) -> None:
            heard.append(f"done {task_id} {task_state.completed_count}")

        def on_server_exit(self) -> None:
            heard.append("exit")

    server = daisy.Server()
    Observer(server)
    roi = daisy.Roi((0,), (10,))
    task = daisy.Task("a", roi, roi, roi, lambda block: None)
    states = server.run_blockwise([task], progress=False, summary=False)
    assert states["a"].is_done()
    assert heard == ["start a", "done a 1", "exit"]
    with pytest.warns(DeprecationWarning, match="multiprocessing=False"):
        serial = daisy.SerialServer()
    assert serial.run_blockwise([task])["a"].completed_count == 1


def test_errors_travel() -> None:
    import pickle

    error = daisy.errors.StoreLocked("held by another")
    error.details = {"holder": "pid 3"}
    other = pickle.loads(pickle.dumps(error))
    assert (str(other), other.details, other.kind) == (str(error), error.details, "store_locked")
    assert isinstance(other, daisy.DaisyError)
