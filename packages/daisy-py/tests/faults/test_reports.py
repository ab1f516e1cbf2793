"""What a report says was measured."""

from __future__ import annotations

import json
from pathlib import Path

from faults.program import run_well


def test_a_resumed_run_claims_no_measurements(tmp_path: Path) -> None:
    program = """
    def summary():
        server = daisy.Server()
        task = line("t", 10, lambda block: None, resource_tracking=True, tracking_path="track")
        server.run_blockwise(task, progress=False)
        return server.last_tracking_summary["per_task"].get("t", {"blocks": 0})

    print(json.dumps([summary()["blocks"], summary()["blocks"]]))
    """
    assert json.loads(run_well(tmp_path, program)) == [10, 0]


def test_time_of_threads_and_children_counts(tmp_path: Path) -> None:
    program = """
    def burn():
        until = time.process_time() + 0.4
        while time.process_time() < until:
            pass

    def function(block):
        thread = threading.Thread(target=burn)
        thread.start()
        thread.join()

    server = daisy.Server()
    task = line("t", 2, function, resource_tracking=True, tracking_path="track")
    server.run_blockwise(task, progress=False)
    print(server.last_tracking_summary["per_task"]["t"]["total_cpu_secs"])
    """
    assert float(run_well(tmp_path, program)) > 0.6
