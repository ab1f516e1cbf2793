"""Reports of runs: the dictionary, the file that a run leaves, and the page in a browser."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import daisy
import numpy as np
import pytest

GRID = (4, 3, 5)
INJECTION = "</script><script>document.title = 'owned'</script><img src=x onerror=alert(1)>"


def process(block: daisy.Block) -> None:
    """Fail for some blocks, with a message that would be markup if it were taken for it."""
    if block.write_roi.begin == (1, 1, 1):
        raise ValueError(INJECTION)


def result_of(tmp_path: Path, **options: Any) -> daisy.RunResult:
    zero, one = (0, 0, 0), (1, 1, 1)
    mask = np.zeros(GRID, dtype=bool)
    mask[0, 0] = True
    first, second = (
        daisy.Task(
            name,
            daisy.Roi(zero, GRID),
            daisy.Roi(zero, one),
            daisy.Roi(zero, one),
            process,
            max_retries=1,
            max_workers=2,
            skip_mask=mask if name == "first" else None,
            resource_tracking=name != "first",
        )
        for name in ("first", "second <b>")
    )
    options = {"progress": False, "summary": False, "worker_processes": False, **options}
    result: daisy.RunResult = daisy.run_blockwise(first + second, **options)
    return result


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> daisy.RunResult:
    return result_of(tmp_path_factory.mktemp("run"))


def test_the_report_says_what_happened(result: daisy.RunResult) -> None:
    report = json.loads(json.dumps(result.report(), allow_nan=False))
    assert report["schema"] == "daisy-report/1"
    assert (report["succeeded"], report["cancelled"]) == (False, False)
    first, second = report["tasks"]
    assert (first["task_id"], second["task_id"]) == ("first", "second <b>")
    counts = {
        key: first["counts"][key] for key in ("total", "completed", "skipped", "failed", "orphaned")
    }
    assert counts == {"total": 60, "completed": 54, "skipped": 5, "failed": 1, "orphaned": 0}
    assert (
        first["counts"]["processed"]
        == sum(one["blocks_processed"] for one in first["workers"])
        == 56
    )
    assert (first["measured"]["blocks"], second["measured"]["blocks"]) == (0, 59)
    assert second["counts"]["orphaned"] == 1
    assert [(error["task_id"], error["count"]) for error in report["errors"]] == [("first", 2)]
    assert len(report["history"]["spans"]) == 56 + 59
    assert sum(map(sum, report["history"]["throughput"])) == 56 + 59


def test_the_map_has_a_cell_for_each_block(result: daisy.RunResult) -> None:
    for task, expected in zip(
        result.report()["tasks"],
        ({"completed": 54, "masked": 5, "failed": 1}, {"completed": 59, "orphaned": 1}),
        strict=True,
    ):
        names = result.report()["state_names"]
        states = np.frombuffer(base64.b64decode(task["blocks"]["states"]), "u1").reshape(GRID)
        seconds = np.frombuffer(base64.b64decode(task["blocks"]["seconds"]), "<f4").reshape(GRID)
        found = {name: int((states == code).sum()) for code, name in enumerate(names)}
        assert {name: count for name, count in found.items() if count} == expected
        assert (np.isfinite(seconds) == (states == names.index("completed"))).all()


def test_done_before_is_told_from_masked(tmp_path: Path) -> None:
    block = daisy.Roi((0,), (1,))

    def run(mask: list[int]) -> dict[str, Any]:
        task = daisy.Task(
            "a",
            daisy.Roi((0,), (4,)),
            block,
            block,
            lambda block: None,
            skip_mask=mask,
            tracking_path=tmp_path / "s",
        )
        report: dict[str, Any] = daisy.run_blockwise(
            task, multiprocessing=False, progress=False, summary=False
        ).report()
        return report

    run([0, 1, 1, 1])
    report = run([1, 1, 0, 0])
    states = base64.b64decode(report["tasks"][0]["blocks"]["states"])
    assert [report["state_names"][code] for code in states] == [
        "done before",
        "masked",
        "completed",
        "completed",
    ]
    assert report["tasks"][0]["counts"]["processed"] == 2


def test_a_run_leaves_its_report_beside_the_logs(tmp_path: Path) -> None:
    pytest.importorskip("plotly")
    before = daisy.logging.get_log_basedir()
    daisy.logging.set_log_basedir(tmp_path / "logs")
    (tmp_path / "logs").mkdir()
    try:
        ended = result_of(tmp_path)
    finally:
        daisy.logging.set_log_basedir(before)
    left = json.loads((tmp_path / "logs/report.json").read_text())
    assert left == json.loads(json.dumps(ended.report()))
    command = [sys.executable, "-m", "daisy", "report"]
    made = subprocess.run([*command, tmp_path / "logs"], capture_output=True, text=True, check=True)
    assert made.stdout.strip() == str(tmp_path / "logs/report.html")
    assert (tmp_path / "logs/report.html").stat().st_size > 1_000_000
    empty = subprocess.run([*command, tmp_path], capture_output=True, text=True, check=False)
    assert empty.returncode == 1
    assert (
        "expected the log folder of a run, its report.json, or a folder of tracking stores"
        in empty.stderr
    )
    assert "Traceback" not in empty.stderr
    (tmp_path / "report.json").write_text('{"schema": "other"}')
    wrong = subprocess.run([*command, tmp_path], capture_output=True, text=True, check=False)
    assert wrong.returncode == 1
    assert "expected 'daisy-report/1'" in wrong.stderr


def test_the_page_works_in_a_browser_without_network(
    tmp_path: Path, result: daisy.RunResult
) -> None:
    pytest.importorskip("plotly")
    playwright: Any = pytest.importorskip("playwright.sync_api")
    browsers = ("chromium", "chromium-browser", "google-chrome", "chrome")
    browser_path = next(filter(None, map(shutil.which, browsers)), None)
    if browser_path is None:
        pytest.skip("no Chromium is installed")
    result.save_html(tmp_path / "report.html")
    said: list[str] = []
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        page = browser.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: said.append(request.url))
        page.goto((tmp_path / "report.html").as_uri())
        page.wait_for_selector("body[data-ready=yes]")
        assert said == [(tmp_path / "report.html").as_uri()]
        assert page.title() == "daisy report"
        headings = page.locator("h2").all_text_contents()
        assert headings == [
            "Tasks",
            "Throughput",
            "Time per block",
            "Workers",
            "Blocks",
            "Errors",
            "Settings",
        ]
        cells = page.locator("#map-cells")
        area = [int(cells.get_attribute(f"data-{name}")) for name in ("cells", "slices")]
        assert area == [15, 4]
        assert page.evaluate("document.getElementById('map-cells').data[0].z.flat().length") == 15
        page.locator("select").nth(2).select_option("0")
        assert cells.get_attribute("data-cells") == "20"
        assert cells.get_attribute("data-slices") == "3"
        assert INJECTION in page.locator("#errors").text_content()
        assert page.locator("#workers .trace").count() > 0
        browser.close()


def test_without_plotly_the_page_says_what_to_install(
    tmp_path: Path, result: daisy.RunResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    with pytest.raises(ImportError, match=r"pip install 'daisy-py\[report\]'"):
        result.save_html(tmp_path / "report.html")


def test_interrupted_and_empty_runs_have_reports() -> None:
    one = daisy.Roi((0,), (1,))
    with pytest.warns(UserWarning, match="no blocks"):
        task = daisy.Task(
            "empty",
            daisy.Roi((0,), (0 + 1,)),
            daisy.Roi((0,), (3,)),
            daisy.Roi((1,), (1,)),
            lambda b: b,
        )
    report = daisy.run_blockwise(task, progress=False, summary=False).report()
    assert report["succeeded"]
    assert report["tasks"][0]["blocks"]["states"] is None

    def interrupt(block: daisy.Block) -> None:
        if block.block_id[1] == 2:
            raise KeyboardInterrupt

    task = daisy.Task("stopped", daisy.Roi((0,), (5,)), one, one, interrupt)
    with pytest.raises(KeyboardInterrupt) as caught:
        daisy.run_blockwise(task, multiprocessing=False, progress=False, summary=False)
    report = caught.value.daisy_result.report()  # type: ignore[attr-defined]
    assert report["cancelled"]
    states = base64.b64decode(report["tasks"][0]["blocks"]["states"])
    assert list(states) == [1, 1, 0, 0, 0]
