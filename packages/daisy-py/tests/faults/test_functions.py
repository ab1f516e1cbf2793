"""Block functions of unusual shape, and unusual ways to fail."""

from __future__ import annotations

import json
from pathlib import Path

import daisy
import pytest
from faults.program import run_well


def no_block(first: object, second: object) -> None:
    """Cannot be called with one block."""


@pytest.mark.parametrize("multiprocessing", [True, False])
def test_any_number_of_arguments_means_the_block(tmp_path: Path, multiprocessing: bool) -> None:
    program = f"""
    def function(*args):
        block, = args
        note("seen", str(block.block_id[1]))

    os.mkdir("seen")
    assert daisy.run_blockwise([line("t", 3, function)], multiprocessing={multiprocessing})
    print(sorted(os.listdir("seen")))
    """
    assert run_well(tmp_path, program) == "['0', '1', '2']"


def test_two_required_arguments_are_refused_at_once() -> None:
    roi = daisy.Roi((0,), (10,))
    with pytest.raises(TypeError, match=r"no_block.*first, second"):
        daisy.Task("t", roi, roi, roi, no_block)


def test_a_message_of_100_megabytes_stays_with_the_worker(tmp_path: Path) -> None:
    program = """
    import resource

    def function(block):
        raise ValueError("x" * 100_000_000)

    result = daisy.run_blockwise(line("t", 1, function, max_retries=0))
    assert not result
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
    """
    assert int(run_well(tmp_path, program)) < 250


def test_good_blocks_are_done_however_many_are_bad(tmp_path: Path) -> None:
    program = """
    def function(block):
        if block.block_id[1] % 10 == 3:
            raise ValueError("bad block")

    states = daisy.run_blockwise(line("t", 300, function, max_workers=2), return_states=True)
    print(json.dumps(counts(states)["t"]))
    """
    assert json.loads(run_well(tmp_path, program)) == [300, 0, 0, 0, 270, 30, 0]


@pytest.mark.parametrize("ending", ["sys.exit(3)", "os._exit(3)", "raise ValueError"])
def test_a_fork_of_a_worker_does_not_answer_for_it(tmp_path: Path, ending: str) -> None:
    program = f"""
    def function(block):
        child = os.fork()
        if child == 0:
            {ending}
        os.waitpid(child, 0)

    states = daisy.run_blockwise(line("t", 3, function, max_retries=0), return_states=True)
    print(json.dumps(counts(states)["t"]))
    """
    assert json.loads(run_well(tmp_path, program)) == [3, 0, 0, 0, 3, 0, 0]


@pytest.mark.parametrize(
    "how", ["multiprocessing=False", "worker_processes=False", "max_workers=1"]
)
def test_a_status_that_is_neither_done_nor_failed_is_said(tmp_path: Path, how: str) -> None:
    program = f"""
    def function(block):
        block.status = daisy.BlockStatus.CREATED

    options = {{}} if "max_workers" in "{how}" else dict({how})
    result = daisy.run_blockwise(line("t", 1, function, max_retries=0), **options)
    assert not result
    print(result.errors[0].summary)
    """
    assert run_well(tmp_path, program).startswith("the block function left block.status at CREATED")
