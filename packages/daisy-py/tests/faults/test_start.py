"""Where workers start, and in what surroundings."""

from __future__ import annotations

from pathlib import Path

import pytest
from faults.program import run, run_well

SHADOWS = ["queue.py", "struct.py", "json.py", "random.py", "logging.py"]


def test_files_named_like_modules_of_python_do_no_harm(tmp_path: Path) -> None:
    surroundings = tmp_path / "surroundings"
    surroundings.mkdir()
    for name in SHADOWS:
        (surroundings / name).write_text("raise ImportError('the wrong module')\n")
    program = """
    def function(block):
        import queue, struct
        note(".", f"done-{block.block_id[1]}")

    print(bool(daisy.run_blockwise(line("t", 3, function, max_workers=2))))
    """
    assert run_well(tmp_path, program, cwd=surroundings) == "True"
    assert len(list(surroundings.glob("done-*"))) == 3


def test_a_run_inside_a_daemonic_process(tmp_path: Path) -> None:
    program = """
    import multiprocessing

    def function(block):
        note(".", f"done-{block.block_id[1]}")

    def inner(_):
        return bool(daisy.run_blockwise(line("t", 3, function, max_workers=2), progress=False))

    if __name__ == "__main__":
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            print(pool.map(inner, [0])[0])
    """
    assert run_well(tmp_path, program) == "True"
    assert len(list(tmp_path.glob("done-*"))) == 3


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_the_summary_shows_in_any_encoding(tmp_path: Path, encoding: str) -> None:
    program = """
    states = daisy.run_blockwise(line("täsk", 3, lambda block: None), multiprocessing=False)
    sys.stdout.flush()
    """
    shown = run_whole(tmp_path, program, encoding)
    row = next(row for row in shown.splitlines() if "sk" in row and "3" in row)
    assert [word for word in row.split() if word.isdigit()] == ["3", "3", "0", "0", "0"]


def run_whole(folder: Path, program: str, encoding: str) -> str:
    """All that the program prints."""
    done = run(folder, program, PYTHONIOENCODING=encoding)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("place", ["/proc/nowhere", "a-file/logs"])
def test_a_log_folder_that_cannot_be_made(tmp_path: Path, place: str) -> None:
    (tmp_path / "a-file").touch()
    program = f"""
    daisy.logging.set_log_basedir({place!r})
    try:
        result = daisy.run_blockwise(line("t", 3, lambda block: None))
    except Exception as error:
        print("refused", {place!r} in str(error))
    else:
        print(bool(result), result.states["t"].worker_failure_count)
    """
    assert run_well(tmp_path, program) in ("refused True", "True 0")


def test_the_log_of_a_worker_holds_its_output_and_no_other(tmp_path: Path) -> None:
    program = """
    daisy.logging.set_log_basedir("logs")

    def worker():
        client = daisy.Client()
        name = daisy.get_worker_log_basename(client.worker_id, client.task_id)
        for _ in range(2):  # so that workers are replaced, and ids and files could part
            with client.acquire_block() as block:
                if block is None:
                    return
                print("worker", client.worker_id, name, flush=True)

    assert daisy.run_blockwise(line("t", 10, worker, max_workers=2))
    """
    run_well(tmp_path, program)
    logs = sorted((tmp_path / "logs/t").glob("*.out"))
    said = [line.split() for log in logs for line in written(log)]
    assert len(said) == 10
    for log in logs:
        for _, worker_id, name in (line.split() for line in written(log)):
            assert log.name == f"worker_{worker_id}.out"
            assert (tmp_path / f"{name}.out").resolve() == log.resolve()


def written(log: Path) -> list[str]:
    """The lines of workers in a log."""
    return [line for line in log.read_text().splitlines() if line.startswith("worker ")]
