"""Blocks, ids, levels and dependencies as daisy has them, through the Python API."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import daisy
import pytest

GOLDEN = Path(__file__).parents[2] / "daisy-core" / "tests" / "golden"


def load(name: str) -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = json.loads((GOLDEN / name).read_text())
    return cases


def roi(values: list[list[int]]) -> Any:
    return daisy.Roi(*map(tuple, values))


def as_lists(value: Any) -> list[list[int]]:
    return [list(value.begin), list(value.shape)]


def task(name: str, case: dict[str, Any]) -> daisy.Task:
    return daisy.Task(
        name,
        roi(case["total"]),
        roi(case["read"]),
        roi(case["write"]),
        lambda block: None,
        read_write_conflict=case["conflict"],
        fit=case["fit"],
    )


def graph_of(case: dict[str, Any]) -> daisy.BlockwiseDependencyGraph:
    return daisy.BlockwiseDependencyGraph(
        "t",
        roi(case["read"]),
        roi(case["write"]),
        case["conflict"],
        case["fit"],
        roi(case["total"]),
    )


@pytest.fixture(autouse=True)
def no_blocks_are_fine() -> Any:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="task .* has no blocks")
        yield


def test_blocks_and_what_they_wait_for() -> None:
    for case in load("blocks.json"):
        graph = graph_of(case)
        assert graph.num_levels == case["num_levels"], case
        found = [
            {
                "id": block.block_id[1],
                "read": as_lists(block.read_roi),
                "write": as_lists(block.write_roi),
                "waits_for": sorted(before.block_id[1] for before in upstream),
            }
            for block, upstream in graph.enumerate_all_dependencies()
        ]
        expected = [
            {
                "id": block["id"],
                "read": block["read"],
                "write": block["write"],
                "waits_for": sorted(block["waits_for"]),
            }
            for block in case["blocks"]
        ]
        assert found == expected


def test_what_downstream_blocks_wait_for() -> None:
    for case in load("pipelines.json"):
        up, down = task("up", case["up"]), task("dn", case["dn"])
        graph = daisy.DependencyGraph(up + down)
        waits: dict[str, list[int]] = {}
        for block, _ in graph_of(case["dn"]).enumerate_all_dependencies():
            own = daisy.Block(
                block.total_roi, block.read_roi, block.write_roi, "dn", block.block_id[1]
            )
            upstream = [
                before.block_id[1] for before in graph.upstream(own) if before.task_id == "up"
            ]
            waits[str(block.block_id[1])] = sorted(upstream)
            for before in graph.upstream(own):
                assert own in graph.downstream(before)
        assert waits == {key: sorted(ids) for key, ids in case["dn_waits_for_up"].items()}
