"""``daisy report`` on runs that were killed, go on, or never were."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import daisy
import numpy as np
import pytest
import report_driver
from quiet_runs import blocks, run
from report_driver import GRID

# Row 0: three masked, five done. Row 1: eight failed. Four rows less one block are done.
SECOND = {"total": 48, "completed": 36, "skipped": 3, "failed": 8, "not_done": 1}


def report(*arguments: object, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    command = [sys.executable, "-m", "daisy", "report", *map(str, arguments)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == code, ended.stderr
    assert "Traceback" not in ended.stderr
    return ended


def read(folder: Path, output: Path) -> dict[str, Any]:
    """The report of a folder as a dictionary."""
    report(folder, "-o", output)
    made: dict[str, Any] = json.loads(output.read_text("utf-8"))
    return made


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run whose driver was killed when all but one block had come to its end."""
    folder = tmp_path_factory.mktemp("killed")
    driver = subprocess.Popen(
        [sys.executable, report_driver.__file__, str(folder)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_until(lambda: (folder / "ready").exists(), driver)
    try:
        during = folder / "during.json"
        # Marks and failures are on their way when the last block begins.
        wait_until(lambda: counts_of(read(folder / "logs", during)["tasks"][1]) == SECOND, driver)
    finally:
        driver.kill()
        driver.wait()
    return folder


def wait_until(is_so: Any, driver: subprocess.Popen[bytes]) -> None:
    """Look again until it is so; an error if the driver ended before."""
    while not is_so():
        assert driver.poll() is None, "the driver ended"
        threading.Event().wait(0.02)


def counts_of(task: dict[str, Any]) -> dict[str, int]:
    return {name: task["counts"][name] for name in SECOND}


def test_of_a_run_that_goes_on_the_stores_are_shown(killed: Path) -> None:
    made = json.loads((killed / "during.json").read_text("utf-8"))
    assert made["source"] == "stores"
    assert [task["state"] for task in made["tasks"]] == ["done", "running"]


@pytest.mark.parametrize("place", ["logs", "tracking", "."])
def test_of_a_killed_run_the_stores_are_shown(killed: Path, tmp_path: Path, place: str) -> None:
    made = read(killed / place, tmp_path / "report.json")
    assert (made["schema"], made["source"]) == ("daisy-report/1", "stores")
    assert not made["succeeded"]
    first, second = made["tasks"]
    assert (first["task_id"], first["state"]) == ("first", "done")
    assert (second["task_id"], second["state"]) == ("second <i>", "stopped")
    assert counts_of(second) == SECOND
    assert second["counts"]["failed_attempts"] == 16
    assert first["counts"]["completed"] == first["measured"]["blocks"] == 48
    assert 0 < first["time"]["median"] <= first["time"]["longest"]
    assert first["measured"]["peak_rss_bytes"] > 2**20
    assert second["settings"]["max_retries"] == 1
    assert second["settings"]["block_grid_shape"] == list(GRID)
    assert made["settings"]["worker_processes"] is True
    cells = np.frombuffer(base64.b64decode(second["blocks"]["states"]), "u1").reshape(GRID)
    names = [made["state_names"][code] for code in cells[0]]
    assert names == ["masked"] * 3 + ["completed"] * 5
    assert {made["state_names"][code] for code in cells[1]} == {"failed"}
    assert made["state_names"][cells[-1, -1]] == "not run"


def test_the_counts_are_told_as_text_and_the_page_is_made(killed: Path) -> None:
    pytest.importorskip("plotly")
    ended = report(killed / "tracking")
    *table, page = ended.stdout.splitlines()
    assert table[0].split() == [
        "task",
        "state",
        "blocks",
        "done",
        "masked",
        "failed",
        "not",
        "done",
    ]
    assert table[2].split()[-6:] == ["stopped", "48", "36", "3", "8", "1"]
    assert page == str(killed / "tracking/report.html")
    assert (killed / "tracking/report.html").stat().st_size > 1_000_000


def test_the_page_works_in_a_browser(killed: Path, tmp_path: Path) -> None:
    pytest.importorskip("plotly")
    playwright: Any = pytest.importorskip("playwright.sync_api")
    browsers = ("chromium", "chromium-browser", "google-chrome", "chrome")
    path = next(filter(None, map(shutil.which, browsers)), None)
    if path is None:
        pytest.skip("no Chromium is installed")
    report(killed / "tracking", "-o", tmp_path / "page.html")
    said: list[str] = []
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for width in (1280, 390):
            page = browser.new_page(viewport={"width": width, "height": 844})
            page.on("console", lambda message: said.append(message.text))
            page.on("pageerror", lambda error: said.append(str(error)))
            page.goto((tmp_path / "page.html").as_uri())
            page.wait_for_selector("body[data-ready=yes]")
            assert page.locator("h1").text_content() == "The run did not come to its end"
            headings = page.locator("h2").all_text_contents()
            assert headings == ["Tasks", "Time per block", "Blocks", "Settings"]
            page.locator("select").first.select_option("1")
            drawn = "document.getElementById('map-cells').data[0].z.flat().length"
            assert page.evaluate(drawn) == 48
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        browser.close()
    assert said == []


def test_the_page_of_a_store_does_not_lie_in_the_store(killed: Path) -> None:
    pytest.importorskip("plotly")
    store = killed / "tracking/first"
    before = sorted(store.rglob("*"))
    ended = report(store)
    assert ended.stdout.splitlines()[-1] == str(killed / "tracking/first.report.html")
    assert sorted(store.rglob("*")) == before


def test_the_run_that_ended_last_is_shown(tmp_path: Path) -> None:
    daisy.logging.set_log_basedir(tmp_path)
    try:
        assert run(blocks(5, lambda b: None, tracking_path=tmp_path / "s"), multiprocessing=False)
    finally:
        daisy.logging.set_log_basedir(None)
    made = read(tmp_path, tmp_path / "out.json")
    assert made["source"] == "run"
    assert made["tasks"][0]["workers"]
    # A run of which nothing but the note that it began is there, and its store, is shown from the store.
    (tmp_path / "report.json").write_text(
        json.dumps({"schema": "daisy-report/1", "unfinished": True, "stores": {}})
    )
    assert read(tmp_path, tmp_path / "out.json")["source"] == "stores"


def test_where_there_is_nothing_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "other/deep").mkdir(parents=True)
    (tmp_path / "other/deep/file").write_text("x")
    said = report(tmp_path, code=1).stderr
    assert f"there is neither report.json nor a tracking store in {tmp_path}" in said
    assert (
        "expected the log folder of a run, its report.json, or a folder of tracking stores" in said
    )
    assert "there is nothing at" in report(tmp_path / "missing", code=1).stderr
    (tmp_path / "report.json").write_text(
        json.dumps({"schema": "daisy-report/1", "unfinished": True, "stores": {}})
    )
    said = report(tmp_path, code=1).stderr
    assert "a run that goes on or was killed, and that had no tracking stores" in said


def test_a_damaged_store_is_an_error_that_names_it(tmp_path: Path) -> None:
    assert run(blocks(5, lambda b: None, tracking_path=tmp_path / "s"), multiprocessing=False)
    (tmp_path / "s/done/zarr.json").write_text("{")
    assert str(tmp_path / "s/done/zarr.json") in report(tmp_path, code=1).stderr
