"""Where runs are started from, where their output goes, and what blocks do to their processes."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import daisy
import pytest
from python_scripts import finish, run_script, start, write_script
from quiet_runs import blocks, run

WAYS = ["fork", "spawn"]


@pytest.fixture
def logs(tmp_path: Path) -> Iterator[Path]:
    before = daisy.logging.get_log_basedir()
    daisy.logging.set_log_basedir(tmp_path / "logs")
    yield tmp_path / "logs"
    daisy.logging.set_log_basedir(before)


LEVELS = """
import os, subprocess, sys

if os.environ.get("LEVEL") == "2":
    import daisy
    client = daisy.Client()
    with client.acquire_block() as block:
        if block is not None:
            open(f"block-{block.block_id[1]}", "w").close()
else:
    level = str(int(os.environ.get("LEVEL", "0")) + 1)
    sys.exit(subprocess.run([sys.executable, __file__], env={**os.environ, "LEVEL": level}).returncode)
"""


@pytest.mark.parametrize("way", WAYS)
def test_a_client_three_processes_below_the_driver(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """A worker function that starts a program that starts a program, whose client drives the worker."""
    monkeypatch.setenv("DAISY_WORKER_START", way)
    folder = tmp_path / "wörk dir: 日本"
    folder.mkdir()
    program = folder / "program.py"
    program.write_text(LEVELS)

    def worker() -> None:
        subprocess.run([sys.executable, str(program)], cwd=folder, check=True)

    run(blocks(3, worker, max_workers=1)).raise_for_failures()
    assert len(list(folder.glob("block-*"))) == 3


@pytest.mark.parametrize("way", WAYS)
def test_a_hundred_megabytes_of_output(
    logs: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setenv("DAISY_WORKER_START", way)

    def process(block: daisy.Block) -> None:
        for _ in range(100):
            sys.stdout.write("x" * 999_999 + "\n")

    run(blocks(1, process, max_workers=1)).raise_for_failures()
    (log,) = logs.glob("t/worker_*.out")
    assert log.stat().st_size == 100_000_000
    log.unlink()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("mode", ["file", "both", "console"])
def test_output_that_is_no_utf8(tmp_path: Path, way: str, mode: str) -> None:
    done = run_script(
        tmp_path,
        f"""
        import os
        daisy.logging.set_log_mode({mode!r})

        def process(block):
            os.write(1, b"\\xff\\xfe raw \\x80\\n")
            print("a lone surrogate \\udc80", flush=True)

        if __name__ == "__main__":
            daisy.run_blockwise(task(process, count=1), progress=False).raise_for_failures()
        """,
        DAISY_WORKER_START=way,
    )
    if mode != "file":
        assert " raw " in done.stdout
    if mode != "console":
        (log,) = tmp_path.glob("daisy_logs/t/worker_*.out")
        assert log.read_bytes() == b"\xff\xfe raw \x80\na lone surrogate \\udc80\n"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("mode", ["file", "both", "console"])
def test_a_driver_without_streams(tmp_path: Path, way: str, mode: str) -> None:
    """Neither it nor its workers need an input or an output."""
    script = write_script(
        tmp_path,
        f"""
        import sys
        daisy.logging.set_log_mode({mode!r})

        def process(block):
            print("block", block.block_id[1], flush=True)
            open(f"block-{{block.block_id[1]}}", "w").close()

        if __name__ == "__main__":
            assert sys.stdin is sys.stdout is None
            daisy.run_blockwise(task(process), progress=True).raise_for_failures()
        """,
    )
    closing = f'exec "{sys.executable}" "{script}" <&- >&-'
    done = subprocess.run(
        ["/bin/sh", "-c", closing],
        cwd=tmp_path,
        env={**os.environ, "DAISY_WORKER_START": way},
        stderr=subprocess.PIPE,
        text=True,
        timeout=90,
    )
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.glob("block-*"))) == 6


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("way", WAYS)
def test_a_full_disk_of_logs_fails_no_block(
    logs: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """What cannot be written is lost, and the run goes on."""
    monkeypatch.setenv("DAISY_WORKER_START", way)
    (logs / "t").mkdir(parents=True)
    for worker in range(4):
        for ending in ("out", "err"):
            (logs / "t" / f"worker_{worker}.{ending}").symlink_to("/dev/full")

    def process(block: daisy.Block) -> None:
        print("to a full disk")
        print("and to another", file=sys.stderr, flush=True)
        if block.block_id[1] == 3:
            raise ValueError("as it should")

    result = run(blocks(6, process, max_workers=2, max_retries=0))
    assert result.states["t"].completed_count == 5
    assert "as it should" in result.errors[0].summary
    assert result.states["t"].worker_failure_count == 0


def test_a_log_folder_that_cannot_be_written_is_one_warning(
    logs: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever the reason; root, too, cannot make a file where there is a folder."""
    for worker in range(4):
        (logs / "t" / f"worker_{worker}.out").mkdir(parents=True)
    run(blocks(6, lambda block: None, max_workers=2)).raise_for_failures()
    assert len([text for text in caplog.messages if "cannot be written" in text]) == 1


def test_threads_and_pools_inside_a_block(tmp_path: Path) -> None:
    def process(block: daisy.Block) -> None:
        import concurrent.futures
        import multiprocessing

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            assert list(pool.map(abs, range(-8, 0))) == list(range(8, 0, -1))
        with multiprocessing.get_context("fork").Pool(2) as processes:
            assert processes.map(abs, [-1, -2, -3]) == [1, 2, 3]
        (tmp_path / str(block.block_id[1])).touch()

    run(blocks(4, process, max_workers=2)).raise_for_failures()
    assert len(list(tmp_path.iterdir())) == 4


def test_a_run_from_asyncio() -> None:
    """The loop goes on meanwhile, in a thread or in its own."""

    def process(block: daisy.Block) -> None:
        assert asyncio.run(later()) == 3

    async def later() -> int:
        await asyncio.sleep(0)
        return 3

    async def main() -> tuple[daisy.RunResult, daisy.RunResult, int]:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0.01)

        ticking = asyncio.create_task(tick())
        beside = await asyncio.to_thread(run, blocks(4, process))
        seen = ticks
        ticking.cancel()
        return beside, run(blocks(4, process)), seen

    beside, inside, ticks = asyncio.run(main())
    assert beside
    assert inside
    assert ticks > 1


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that takes silence of about two seconds for the end of a connection, and does not wait for it."""
    monkeypatch.setenv("DAISY_HEARTBEAT", "0.3")
    monkeypatch.setenv("DAISY_RECONNECT_GRACE", "1")


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("seconds", [4, pytest.param(20, marks=pytest.mark.soak)])
@pytest.mark.parametrize("way", [*WAYS, "thread"])
def test_a_block_that_holds_the_gil_is_not_taken_for_dead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str, seconds: int
) -> None:
    """Signs of life come from a thread that does not need it, and so do the driver's own, beside worker threads."""
    is_thread = way == "thread"
    if not is_thread:
        monkeypatch.setenv("DAISY_WORKER_START", way)

    def process(block: daisy.Block) -> None:
        (tmp_path / f"{block.block_id[1]}-{os.getpid()}-{threading.get_ident()}").touch()
        # PyDLL keeps the GIL for the whole call.
        ctypes.PyDLL(None).sleep(seconds)

    task = blocks(2, process, max_workers=1 if is_thread else 2, max_retries=0)
    result = run(task, worker_processes=not is_thread)
    result.raise_for_failures()
    assert len(list(tmp_path.iterdir())) == 2
    assert result.states["t"].worker_failure_count == 0
    assert result.states["t"].refused_report_count == 0


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("way", WAYS)
def test_a_stopped_worker_is_given_up_and_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """Its block is done by another, and its process is not left behind."""
    monkeypatch.setenv("DAISY_WORKER_START", way)

    def process(block: daisy.Block) -> None:
        mark = tmp_path / "stopped"
        if block.block_id[1] == 2 and not mark.exists():
            mark.write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGSTOP)

    result = run(blocks(6, process, max_workers=2))
    result.raise_for_failures()
    assert result.states["t"].worker_failure_count == 1
    pid = (tmp_path / "stopped").read_text()
    limit = time.monotonic() + 10
    while Path(f"/proc/{pid}/exe").exists():
        assert time.monotonic() < limit, "it is left"
        threading.Event().wait(0.02)


def test_a_worker_that_is_stopped_for_a_moment_goes_on(tmp_path: Path) -> None:
    """Nothing is lost, and nothing counted."""

    def process(block: daisy.Block) -> None:
        if block.block_id[1] == 2:
            waker = f"import os, signal; os.kill({os.getpid()}, signal.SIGCONT)"
            subprocess.Popen([sys.executable, "-c", waker])
            os.kill(os.getpid(), signal.SIGSTOP)

    result = run(blocks(6, process, max_workers=1, max_retries=0))
    result.raise_for_failures()
    assert result.states["t"].worker_failure_count == 0


NOTEBOOK = """
import daisy, threading, struct
lock, local, layout = threading.Lock(), threading.local(), struct.Struct("<I")

class Thing:
    pass

def helper(block):
    with lock:
        local.thing = Thing()
    return layout.size

def process(block):
    assert helper(block) == 4
    assert type(local.thing) is Thing

task = daisy.Task("t", daisy.Roi((0,), (60,)), daisy.Roi((0,), (10,)), daisy.Roi((0,), (10,)), process)
"""


def test_cells_of_a_notebook(tmp_path: Path) -> None:
    """Functions of a cell reach workers, in a kernel whose loop runs."""
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    cells = [
        NOTEBOOK,
        "result = daisy.run_blockwise(task, progress=True, summary=False); print(bool(result))",
        "import asyncio; print(bool(await asyncio.to_thread(daisy.run_blockwise, task, progress=False)))",
        "print(bool(daisy.run_blockwise(task, worker_processes=False, progress=False, summary=False)))",
    ]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    notebook_client = nbclient.NotebookClient(
        book, timeout=90, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )
    notebook_client.execute()
    for cell in book.cells[1:]:
        said = "".join(out.get("text", "") for out in cell.outputs if out.get("name") == "stdout")
        assert "True" in said, cell.outputs


def test_code_that_is_no_file(tmp_path: Path) -> None:
    """`python -c` with a lock, and from the standard input."""
    code = write_script(
        tmp_path,
        """
        import threading
        lock = threading.Lock()

        def process(block):
            with lock:
                pass

        print(daisy.run_blockwise(task(process), progress=False, summary=False))
        """,
    ).read_text()
    assert "succeeded" in finish(start(["-c", code], tmp_path)).stdout
