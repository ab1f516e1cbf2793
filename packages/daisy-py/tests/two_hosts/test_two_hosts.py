"""A driver on one host and workers on others, over addresses that are not loopback, with TLS, through cut cables."""

from __future__ import annotations

import json
import subprocess
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from daisy.testing._actors import wait_until
from hosts import Hosts, obstacle

fcntl = pytest.importorskip("fcntl")  # not on Windows
pytestmark = pytest.mark.two_hosts
PATIENCE = 90.0

DRIVER = """
    # arguments: host to listen on, blocks, hosts of the first workers and of all that follow, as commands
    import fcntl, json, subprocess, sys
    import daisy

    host, blocks, *commands = sys.argv[1:]
    commands = [json.loads(command) for command in commands]

    def start_worker():
        number = int(daisy.Context.from_env()["worker_id"])
        command = commands[min(number, len(commands) - 1)]
        if number == 1:
            # The first worker takes block 0.
            fcntl.flock(open("second"), fcntl.LOCK_SH)
        subprocess.run([*command, sys.executable, "worker.py"], check=True)

    total, cell = daisy.Roi((0,), (10 * int(blocks),)), daisy.Roi((0,), (10,))
    task = daisy.Task("t", total, cell, cell, start_worker, max_workers=len(set(map(str, commands))),
                      max_retries=2, read_write_conflict=False)
    result = daisy.run_blockwise(task, host=host, progress=False, summary=False)
    state = result.states["t"]
    print(json.dumps({
        "completed": state.completed_count,
        "failed attempts": state.failed_attempt_count,
        "deaths": state.worker_failure_count,
        "refused": state.refused_report_count,
        "started": state.worker_start_count,
    }))
"""
WORKER = """
    import fcntl, time
    from pathlib import Path
    import daisy

    began = time.monotonic()
    client = daisy.Client()
    token = Path(client.context["token_file"]).read_text()
    name = f"{client.worker_id}"
    Path(f"joined-{name}").write_text(f"{time.monotonic() - began}")
    Path(f"secured-{name}").write_text(str("certificate-sha256" in token))
    while True:
        with client.acquire_block() as block:
            if block is None:
                break
            number = block.block_id[1]
            Path(f"started-{number}-by-{name}").touch()
            if number == 0:
                fcntl.flock(open("go"), fcntl.LOCK_SH)
            Path(f"done-{number}-by-{name}").touch()
"""


@pytest.fixture
def hosts() -> Iterator[Hosts]:
    reason = obstacle()
    if reason is not None:
        pytest.skip(reason)
    with Hosts() as made:
        yield made


class Gate:
    """A file that others cannot lock, however long they wait, before it is opened."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w")
        fcntl.flock(self._file, fcntl.LOCK_EX)

    def open(self) -> None:
        """Let all pass."""
        self._file.close()


class Run:
    """A run whose driver and workers are on hosts of their own; its first worker holds block 0 until it is let go."""

    def __init__(
        self, hosts: Hosts, folder: Path, where: str, blocks: int, workers: list[str], **env: str
    ) -> None:
        self.folder = folder
        (folder / "worker.py").write_text(textwrap.dedent(WORKER))
        script = folder / "driver.py"
        script.write_text(textwrap.dedent(DRIVER))
        second, self._go = Gate(folder / "second"), Gate(folder / "go")
        commands = [json.dumps(hosts.command(worker)) for worker in workers]
        self.driver = hosts.start("driver", script, [where, str(blocks), *commands], env)
        self.wait_for("started-0-by-0")
        second.open()

    def wait_for(self, pattern: str) -> Path:
        """Wait for a file of a worker."""
        self.wait(lambda: any(self.folder.glob(pattern)), pattern)
        return next(self.folder.glob(pattern))

    def wait(self, happened: Callable[[], bool], what: str) -> None:
        """Wait for something, or for the end of the driver."""
        ended = self.driver.poll
        assert wait_until(lambda: happened() or ended() is not None, PATIENCE), f"not seen: {what}"
        assert happened(), f"{what}: the driver ended, {self.driver.communicate()}"

    def let_go(self) -> None:
        """Block 0 may end."""
        self._go.open()

    def end(self) -> dict[str, Any]:
        """What became of it."""
        try:
            out, err = self.driver.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.driver.kill()
            raise AssertionError(f"the run does not end: {self.driver.communicate()}") from None
        assert self.driver.returncode == 0, err
        assert {path.read_text() for path in self.folder.glob("secured-*")} == {"True"}
        said: dict[str, Any] = json.loads(out.splitlines()[-1])
        return said


WELL = {"failed attempts": 0, "deaths": 0, "refused": 0}


@pytest.mark.parametrize("where", ["10.77.0.1", "fd77::1", "net0"])
def test_workers_of_another_host(hosts: Hosts, tmp_path: Path, where: str) -> None:
    """An address of either family, or the interface with both."""
    run = Run(hosts, tmp_path, where, 20, ["near", "far"])
    run.let_go()
    assert run.end() == {"completed": 20, "started": 2, **WELL}


def test_of_several_addresses_the_first_that_answers_is_kept(hosts: Hosts, tmp_path: Path) -> None:
    """Addresses that never answer cost nothing: all are tried at once."""
    for address in ("10.88.0.1", "10.88.0.2"):
        hosts.add_address("driver", f"{address}/32")
        hosts.black_hole("near", address)
    run = Run(hosts, tmp_path, "net0", 5, ["near"])
    run.let_go()
    assert run.end() == {"completed": 5, "started": 1, **WELL}
    # Each of them would have taken five seconds.
    assert float((tmp_path / "joined-0").read_text()) < 5


def test_a_cable_that_is_pulled_for_a_moment(hosts: Hosts, tmp_path: Path) -> None:
    """What is said meanwhile arrives afterwards, over the same connection."""
    run = Run(hosts, tmp_path, "10.77.0.1", 10, ["near"])
    hosts.pull_cable("near")
    run.let_go()
    run.wait_for("done-0-by-0")
    hosts.plug_cable("near")
    assert run.end() == {"completed": 10, "started": 1, **WELL}


def test_a_cable_that_is_pulled_until_the_connection_is_lost(hosts: Hosts, tmp_path: Path) -> None:
    """Within the grace the same worker comes back, and keeps the block that it holds."""
    run = Run(hosts, tmp_path, "10.77.0.1", 10, ["near"], DAISY_RECONNECT_GRACE="120")
    assert hosts.is_connected(run.driver.pid, 2)
    hosts.pull_cable("near")
    run.wait(lambda: not hosts.is_connected(run.driver.pid, 2), "the end of the connection")
    hosts.plug_cable("near")
    run.wait(lambda: hosts.is_connected(run.driver.pid, 2), "a new connection")
    run.let_go()
    assert run.end() == {"completed": 10, "started": 1, **WELL}
    assert not any(tmp_path.glob("started-*-by-1"))


def test_a_cable_that_is_pulled_for_longer_than_the_grace(hosts: Hosts, tmp_path: Path) -> None:
    """The block goes to another host, at the price of one attempt; the run does not wait for the first."""
    run = Run(hosts, tmp_path, "10.77.0.1", 10, ["near", "far"], DAISY_RECONNECT_GRACE="2")
    hosts.pull_cable("near")
    run.wait(lambda: len(list(tmp_path.glob("started-0-by-*"))) == 2, "block 0 on another host")
    run.let_go()
    said = run.end()
    assert (said["completed"], said["failed attempts"], said["deaths"]) == (10, 1, 1)
    done = {
        path.name.split("-")[1]
        for path in tmp_path.glob("done-*")
        if not path.name.endswith("-by-0")
    }
    assert done == {str(number) for number in range(10)}
