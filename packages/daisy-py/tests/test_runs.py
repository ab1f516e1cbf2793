"""Runs in each mode, as users start them."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import daisy
import pytest
from python_scripts import finish, run_script, start, write_script

MODES: dict[str, dict[str, Any]] = {
    "process": {},
    "thread": {"worker_processes": False},
    "serial": {"multiprocessing": False},
}
modes = pytest.mark.parametrize("mode", MODES)


@pytest.fixture(autouse=True)
def logs(tmp_path: Path) -> Iterator[Path]:
    """Logs beside what the test writes."""
    daisy.logging.set_log_basedir(tmp_path / "logs")
    yield tmp_path / "logs"
    daisy.logging.set_log_basedir(daisy.logging.LOG_BASEDIR)
    daisy.logging.set_log_mode("file")


def task(process: Any, name: str = "t", count: int = 6, **options: Any) -> daisy.Task:
    return daisy.Task(
        name,
        daisy.Roi((0,), (count * 10,)),
        daisy.Roi((0,), (10,)),
        daisy.Roi((0,), (10,)),
        process,
        read_write_conflict=False,
        **options,
    )


def run(pipeline: Any, **options: Any) -> Any:
    return daisy.run_blockwise(pipeline, **{"progress": False, "summary": False, **options})


def marker(folder: Path) -> Any:
    def process(block: daisy.Block) -> None:
        # Fails if a block is processed twice.
        os.close(os.open(folder / f"{block.task_id}-{block.block_id[1]}", os.O_CREAT | os.O_EXCL))

    return process


@modes
def test_each_block_is_processed_once_in_each_mode(tmp_path: Path, mode: str) -> None:
    process = marker(tmp_path)
    first, second = task(process, "a", max_workers=2), task(process, "b", max_workers=2)
    result = run(first + second, **MODES[mode])
    assert result
    assert result == True  # noqa: E712 - what programs for daisy 2.0.0 write
    assert len(list(tmp_path.glob("a-*"))) == len(list(tmp_path.glob("b-*"))) == 6
    assert [state.blocks_processed for state in result.states.values()] == [6, 6]
    assert list(result.states) == ["a", "b"]
    assert len(result.failed) == len(result.orphaned) == 0
    assert result.raise_for_failures() is result


@modes
def test_status_failed_is_retried_and_counted(mode: str) -> None:
    def process(block: daisy.Block) -> None:
        if block.block_id[1] == 2:
            block.status = daisy.BlockStatus.FAILED

    states = run(task(process, max_retries=1), return_states=True, **MODES[mode])
    state = states["t"]
    assert (state.completed_count, state.failed_count, state.failed_attempt_count) == (5, 1, 2)


def test_an_exception_in_a_serial_run_comes_out_as_itself() -> None:
    class Own(Exception):
        pass

    error = Own("three")

    def process(block: daisy.Block) -> None:
        if block.block_id[1] == 3:
            raise error

    with pytest.raises(Own) as raised:
        run(task(process), multiprocessing=False)
    assert raised.value is error
    assert raised.traceback[-1].name == "process"


@modes
def test_check_function_skips_and_its_error_ends_the_run(mode: str) -> None:
    with pytest.warns(UserWarning, match="check_function"):
        half = task(lambda block: None, check_function=lambda block: block.block_id[1] % 2)
    state = run(half, **MODES[mode]).states["t"]
    assert (state.completed_count, state.skipped_count) == (6, 3)

    def explode(block: daisy.Block) -> bool:
        raise LookupError("the data base is gone")

    with pytest.warns(UserWarning, match="check_function"):
        broken = task(lambda block: None, check_function=explode)
    with pytest.raises(LookupError, match="data base"):
        run(broken, **MODES[mode])


@pytest.mark.parametrize("mode", ["process", "thread"])
def test_checks_are_asked_in_parallel(mode: str) -> None:
    """A slow file system answers several at once; the run does not wait for one after the other."""
    meeting = threading.Barrier(2, timeout=60)
    first = threading.Semaphore(2)

    def check(block: daisy.Block) -> bool:
        if first.acquire(blocking=False):
            meeting.wait()
        return True

    with pytest.warns(UserWarning, match="check_function"):
        checked = task(lambda block: None, check_function=check)
    state = run(checked, **MODES[mode]).states["t"]
    assert state.skipped_count == state.completed_count


@pytest.mark.parametrize("mode", ["process", "thread"])
def test_worker_functions_drive_a_client(tmp_path: Path, mode: str) -> None:
    def worker(*, context: daisy.Context) -> None:
        client = daisy.Client()
        assert client.connected
        assert client.context["task_id"] == client.task_id == context["task_id"] == "t"
        assert str(client.worker_id) == context["worker_id"]
        while True:
            with client.acquire_block() as block:
                if block is None:
                    break
                (tmp_path / str(block.block_id[1])).write_text(str(client.worker_id))
            assert block.status == daisy.BlockStatus.SUCCESS

    result = run(task(worker, max_workers=2), **MODES[mode])
    assert result, result.errors
    assert len(list(tmp_path.glob("[0-9]"))) == 6


def test_a_client_goes_on_after_an_exception() -> None:
    def worker() -> None:
        client = daisy.Client()
        while True:
            try:
                with client.acquire_block() as block:
                    if block is None:
                        return
                    if block.block_id[1] == 3:
                        raise ValueError("three")
            except ValueError:
                assert block is not None
                assert block.status == daisy.BlockStatus.FAILED

    state = run(task(worker, max_retries=1)).states["t"]
    assert (state.completed_count, state.failed_count, state.worker_failure_count) == (5, 1, 0)


def test_worker_functions_cannot_run_serially() -> None:
    with pytest.raises(ValueError, match="multiprocessing"):
        run(task(lambda: None), multiprocessing=False)


def test_a_worker_function_that_starts_a_program(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import daisy\n"
        "client = daisy.Client()\n"
        "while True:\n"
        "    with client.acquire_block() as block:\n"
        "        if block is None: break\n"
        f"        open(r'{tmp_path}' + f'/{{block.block_id[1]}}', 'w').close()\n"
    )

    def worker() -> None:
        subprocess.run([sys.executable, str(program)], check=True)

    assert run(task(worker, max_workers=2))
    assert len(list(tmp_path.glob("[0-9]"))) == 6


def test_a_worker_started_by_hand_helps(tmp_path: Path) -> None:
    """The context of a run is all that another process needs; the secret is only in a file."""
    (tmp_path / "helper.py").write_text(
        "def process(block):\n    open(f'hand-{block.block_id[1]}', 'w').close()\n"
    )

    def worker() -> None:
        assert "token_file" in dict(daisy.Context.from_env().items())
        subprocess.run(
            [sys.executable, "-m", "daisy", "worker", "helper:process"], cwd=tmp_path, check=True
        )

    result = run(task(worker))
    assert result, result.errors
    assert len(list(tmp_path.glob("hand-*"))) == 6


def test_logs_are_per_worker_and_live(tmp_path: Path, logs: Path) -> None:
    def process(block: daisy.Block) -> None:
        print("block", block.block_id[1], "of", daisy.Context.from_env()["worker_id"])
        sys.stderr.write("an error line\n")
        # What was printed can be read while the block goes on.
        out = daisy.logging.get_worker_log_basename(
            daisy.Context.from_env()["worker_id"], block.task_id
        )
        assert f"block {block.block_id[1]} of" in Path(f"{out}.out").read_text()

    def adopt(block: daisy.Block) -> None:
        daisy.logging.set_log_basedir(daisy.Context.from_env()["logdir"])
        process(block)

    result = run(task(adopt, max_workers=2))
    assert result, result.errors
    text = "".join(path.read_text() for path in (logs / "t").glob("worker_*.out"))
    assert text.count("block") == 6
    for path in (logs / "t").glob("worker_*.out"):
        assert {line.split()[-1] for line in path.read_text().splitlines()} <= {path.stem[7:]}


@pytest.mark.parametrize("mode", ["console", "both"])
def test_output_on_the_console(tmp_path: Path, mode: str) -> None:
    done = run_script(
        tmp_path,
        f"""
        daisy.logging.set_log_mode({mode!r})
        def process(block):
            print("hello from", block.block_id[1], flush=True)
        daisy.run_blockwise(task(process), progress=False, summary=False).raise_for_failures()
        """,
    )
    assert done.stdout.count("hello from") == 6
    assert (tmp_path / "daisy_logs" / "t").exists() == (mode == "both")


def test_a_log_folder_that_cannot_be_made_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run_script(
        tmp_path,
        """
        daisy.logging.set_log_basedir("file/logs")
        print(daisy.run_blockwise(task(lambda block: None), progress=False, summary=False))
        """,
    )
    assert "succeeded" in done.stdout
    assert done.stderr.count("cannot be written") == 1


def test_the_summary_on_a_terminal_that_knows_only_ascii(tmp_path: Path) -> None:
    done = run_script(
        tmp_path,
        "daisy.run_blockwise(task(lambda block: None, 'extract'), progress=False)",
        PYTHONIOENCODING="ascii",
    )
    row = next(line for line in done.stdout.splitlines() if "extract" in line)
    assert row.split()[-5:] == ["6", "6", "0", "0", "0"]


def test_observers(tmp_path: Path) -> None:
    stream = io.StringIO()
    assert run(task(lambda block: None), progress=daisy.JsonProgressObserver(stream=stream))
    events = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [event["event"] for event in events][:1] == ["start"]
    assert events[-1]["event"] == "finish"
    assert events[-1]["completed"] == events[-1]["total"] == 6
    with pytest.raises(ValueError, match="both"):
        daisy.JsonProgressObserver(tmp_path / "x", stream)

    class Broken:
        def on_start(self, states: Any) -> None:
            raise RuntimeError("an observer cannot break a run")

    assert run(task(lambda block: None), progress=Broken())


def test_an_error_text_of_many_megabytes_costs_little(tmp_path: Path) -> None:
    done = run_script(
        tmp_path,
        """
        def process(block):
            if block.block_id[1] == 1:
                raise ValueError("x" * 100_000_000)
        result = daisy.run_blockwise(task(process, max_retries=0), progress=False, summary=False)
        (group,) = result.errors
        # Not ru_maxrss, which a process has from the one that started it.
        peak = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
        print(len(group.traceback), peak[0].split()[1])
        """,
    )
    length, peak = map(int, done.stdout.split()[-2:])
    assert length <= 9000
    assert peak < 200_000


def test_a_fork_inside_a_block_does_not_speak_for_it(tmp_path: Path) -> None:
    def process(block: daisy.Block) -> None:
        leaves: list[Callable[[], object]] = [sys.exit, lambda: None]
        for leave in leaves:
            child = os.fork()
            if child == 0:
                leave()
                return
            os.waitpid(child, 0)

    state = run(task(process)).states["t"]
    assert (state.completed_count, state.blocks_processed, state.refused_report_count) == (6, 6, 0)


def test_two_runs_at_once_and_one_inside_a_worker(tmp_path: Path) -> None:
    def nested(block: daisy.Block) -> None:
        inner = daisy.Task(
            "inner",
            daisy.Roi((0,), (20,)),
            daisy.Roi((0,), (10,)),
            daisy.Roi((0,), (10,)),
            lambda block: None,
        )
        daisy.run_blockwise(inner, progress=False, summary=False).raise_for_failures()

    results: list[Any] = []
    threads = [
        threading.Thread(target=lambda name=name: results.append(run(task(nested, name, 2))))
        for name in "ab"
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 2
    assert all(results), [result.errors for result in results]


def test_importing_is_light(tmp_path: Path) -> None:
    code = "import sys, daisy; print(*(m for m in ('numpy','dill','tqdm','funlib','logging') if m in sys.modules))"
    assert finish(start(["-c", code], tmp_path)).stdout.strip() == ""


def test_the_command(tmp_path: Path) -> None:
    version = finish(start(["-m", "daisy", "--version"], tmp_path)).stdout
    assert version.strip() == f"daisy {daisy.__version__}"
    write_script(tmp_path, "")
    wrong = start(["-m", "daisy", "worker", "nothing:process"], tmp_path)
    _, err = wrong.communicate(timeout=30)
    assert wrong.returncode == 2
    assert len(err.strip().splitlines()) == 1
