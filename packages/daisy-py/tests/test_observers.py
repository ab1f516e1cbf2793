"""Who watches a run: in a terminal, a notebook, a log file, a program; and what a bad observer does to it: nothing."""

from __future__ import annotations

import importlib
import io
import json
import logging
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import daisy
import pytest
from daisy._observers import observer_of
from daisy._progress import LineObserver, TerminalObserver, seconds_left
from python_scripts import run_script, write_script
from quiet_runs import blocks

SCHEMA = re.compile(r"^\| `(\w+)` \|", re.MULTILINE)


def state(**counts: int) -> Any:
    """A state with these counts."""
    names = ("total_block", "completed", "skipped", "failed", "orphaned", "pending", "processing")
    given = {f"{name}_count": counts.get(name, 0) for name in names}
    more = {"ready_count": 0, "worker_restart_count": 0, "worker_failure_count": 0}
    ended = counts.get("completed", 0) + counts.get("failed", 0) >= counts.get("total_block", 0)
    return SimpleNamespace(**given, **more, is_done=lambda: ended)


def test_twenty_thousand_blocks_say_little_where_there_is_no_terminal(tmp_path: Path) -> None:
    done = run_script(
        tmp_path, "assert daisy.run_blockwise(task(lambda block: None, count=20_000))"
    )
    assert len(done.stdout) + len(done.stderr) < 20_000
    assert "20000" in done.stdout


def test_lines_say_where_each_task_is_and_how_long_it_takes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    observer = LineObserver(every_seconds=0.0)
    observer._started -= 600
    observer.on_progress(
        {
            "extract": state(total_block=1000, completed=600, skipped=500, failed=1),
            "done": state(total_block=5, completed=5),
        }
    )
    # 101 blocks in ten minutes, 399 are left; what was skipped says nothing.
    assert capsys.readouterr().err == "daisy: 600 s: extract 600/1000 (1 failed) (40 min left)\n"


def test_the_time_left_is_judged_by_the_blocks_that_ran() -> None:
    assert seconds_left(state(total_block=1000, completed=900, skipped=900), 10) is None
    assert seconds_left(state(total_block=1000, completed=910, skipped=900), 10) == 90
    assert seconds_left(state(total_block=10, completed=5, failed=5), 10) == 0
    assert seconds_left(state(total_block=10, completed=1, orphaned=9), 10) == 0


def test_bars_do_not_take_skipped_blocks_for_work(capsys: pytest.CaptureFixture[str]) -> None:
    observer = TerminalObserver()
    observer.on_start({"t": state(total_block=1000)})
    observer.on_progress({"t": state(total_block=1000, completed=910, skipped=900)})
    bar = observer._bars["t"]
    shown = bar.format_dict
    assert (shown["n"] - shown["initial"], shown["total"]) == (10, 1000)
    observer.on_finish({"t": state(total_block=1000, completed=1000, skipped=900)})
    assert "1000/1000" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_a_terminal_gets_bars(tmp_path: Path) -> None:
    import fcntl
    import pty
    import struct
    import termios

    script = write_script(
        tmp_path,
        "daisy.run_blockwise(task(lambda block: None, 'extract', count=500), summary=False)",
    )
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    process = subprocess.Popen([sys.executable, str(script)], cwd=tmp_path, stderr=theirs)
    os.close(theirs)
    said = b""
    try:
        while part := os.read(ours, 65536):
            said += part
    except OSError:
        pass  # Linux says so when the other end is closed
    os.close(ours)
    assert process.wait(60) == 0
    last = said.decode().replace("\r", "\n").strip().splitlines()[-1]
    assert "extract ✔: 100%" in last
    assert "500/500" in last


NOTEBOOK = """
import daisy
daisy.logging.set_log_basedir(None)
block = daisy.Roi((0,), (10,))
task = daisy.Task("extract", daisy.Roi((0,), (500,)), block, block, lambda block: None)
result = daisy.run_blockwise(task, worker_processes=False, summary=False)
print(bool(result))
"""


def test_a_notebook_gets_a_widget() -> None:
    pytest.importorskip("ipykernel")
    pytest.importorskip("ipywidgets")
    manager: Any = pytest.importorskip("jupyter_client.manager")
    kernel, client = manager.start_new_kernel(kernel_name="python3", startup_timeout=120)
    try:
        said: list[dict[str, Any]] = []
        reply = client.execute_interactive(NOTEBOOK, timeout=120, output_hook=said.append)
        assert reply["content"]["status"] == "ok", reply["content"]
    finally:
        client.stop_channels()
        kernel.shutdown_kernel(now=True)
    contents = [message["content"] for message in said]
    shown = [content["data"] for content in contents if "data" in content]
    assert any("application/vnd.jupyter.widget-view+json" in data for data in shown)
    streams = [content["text"] for content in contents if "text" in content]
    assert "".join(streams).strip() == "True"


def test_json_lines_are_as_the_reference_says(tmp_path: Path) -> None:
    path = tmp_path / "progress.jsonl"
    work = blocks(6, lambda block: None, skip_mask=[True, False, False, False, False, False])
    observer = daisy.JsonProgressObserver(path)
    assert daisy.run_blockwise(work, multiprocessing=False, progress=observer, summary=False)
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert [line["event"] for line in (lines[0], lines[-1])] == ["start", "finish"]
    last = lines[-1]
    assert (last["task"], last["total"], last["completed"], last["skipped"]) == ("t", 6, 6, 1)
    assert last["eta_seconds"] == 0
    page = Path(__file__).parents[3] / "docs/reference/progress.md"
    if page.exists():
        keys = SCHEMA.findall(page.read_text("utf-8").partition("## JSON lines")[2])
        assert all(list(line) == list(last) for line in lines)
        assert sorted(keys) == sorted(last)


@pytest.mark.parametrize("how", ["serial", "thread", "process"])
def test_an_observer_that_raises_is_logged_once_and_the_run_goes_on(
    how: str, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken:
        def __init__(self) -> None:
            self.calls = 0
            self.called = threading.Event()

        def on_start(self, states: Any) -> None:
            raise RuntimeError("at the start")

        def on_progress(self, states: Any) -> None:
            self.calls += 1
            if self.calls == 2:
                self.called.set()
            raise RuntimeError("in between")

    observer = Broken()

    def process(block: daisy.Block) -> None:
        # As long as it takes until it was told of twice.
        if how != "process" and block.block_id[1] == 0:
            observer.called.wait(60)

    with caplog.at_level(logging.WARNING, "daisy"):
        result = daisy.run_blockwise(
            blocks(5, process),
            multiprocessing=how != "serial",
            worker_processes=how == "process",
            progress=observer,
            summary=False,
        )
    assert result
    said = [record.getMessage() for record in caplog.records]
    assert sum("on_start of observer" in line for line in said) == 1
    assert sum("on_progress of observer" in line for line in said) <= 1
    if how != "process":
        assert observer.calls >= 2


def test_an_observer_that_hangs_does_not_hold_the_run() -> None:
    release = threading.Event()

    class Slow:
        def on_start(self, states: Any) -> None:
            release.wait(300)

    began = time.monotonic()
    try:
        ended = daisy.run_blockwise(
            blocks(1000, lambda block: None), multiprocessing=False, progress=Slow(), summary=False
        )
        assert ended
        # Far less than it hangs for; what is allowed after the end of a run is two seconds.
        assert time.monotonic() - began < 60
    finally:
        release.set()


def test_observers_have_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(observer_of("lines"), LineObserver)
    assert isinstance(observer_of("bars"), TerminalObserver)
    assert isinstance(observer_of("json"), daisy.JsonProgressObserver)
    plugin = tmp_path / "our_lab-1.0.dist-info"
    plugin.mkdir()
    (plugin / "METADATA").write_text("Metadata-Version: 2.1\nName: our-lab\nVersion: 1.0\n")
    (plugin / "entry_points.txt").write_text(
        "[daisy.observers]\nours = our_lab_observer:Observer\n"
    )
    (tmp_path / "our_lab_observer.py").write_text(
        "told = []\n"
        "class Observer:\n"
        "    def on_finish(self, states):\n"
        "        told.append(states['t'].completed_count)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    work = blocks(3, lambda block: None)
    assert daisy.run_blockwise(work, multiprocessing=False, progress="ours", summary=False)
    assert importlib.import_module("our_lab_observer").told == [3]
    with pytest.raises(
        ValueError, match=r"expected True, False.*bars, json, lines, ours\), got 'no'"
    ):
        daisy.run_blockwise(work, progress="no")


def test_json_lines_go_to_a_stream() -> None:
    stream = io.StringIO()
    observer = daisy.JsonProgressObserver(stream=stream)
    observer.on_progress({"t": state(total_block=4, completed=1)})
    line = json.loads(stream.getvalue())
    assert (line["event"], line["completed"]) == ("progress", 1)
