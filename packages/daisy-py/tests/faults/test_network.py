"""Strangers, liars and clients that disappear do a run no harm."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from faults.program import run_well

# The first block attacks the run that it is part of; the rest must be done as if nothing had happened.
PROGRAM = """
def attack():
    {attack}

def function(block):
    if block.block_id[1] == 0:
        note(".", "attack-" + attack())
    note(".", f"done-{{block.block_id[1]}}")

task = line("t", 6, function, max_retries=0)
states = daisy.run_blockwise(task, progress=False, return_states=True)
print(json.dumps(counts(states)["t"]))
"""
ATTACKS = {
    "without the secret": """
    Path("guess").write_bytes(bytes(32))
    os.chmod("guess", 0o600)
    context = daisy.Context.from_env()
    context["token_file"] = os.path.abspath("guess")
    try:
        return "let in" if daisy.Client(context).connected else "refused"
    except Exception as error:
        return "refused"
    """,
    "for a task that is not there": """
    context = daisy.Context.from_env()
    context["task_id"] = "nothing"
    try:
        return "let in" if daisy.Client(context).connected else "refused"
    except daisy.DaisyError as error:
        return "refused"
    """,
    "under the id of a worker that never connected": """
    context = daisy.Context.from_env()
    context["worker_id"] = "4711"
    try:
        daisy.Client(context).close()
    except daisy.DaisyError:
        pass
    return "refused"
    """,
    "garbage": """
    import socket
    context = daisy.Context.from_env()
    for data in (b"", b"GET / HTTP/1.1\\r\\n\\r\\n", b"\\xff" * 4096, bytes(4096)):
        with socket.create_connection((context["hostname"], int(context["port"]))) as peer:
            peer.sendall(data)
    return "refused"
    """,
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack(tmp_path: Path, attack: str) -> None:
    program = PROGRAM.format(attack=ATTACKS[attack].strip())
    assert json.loads(run_well(tmp_path, program)) == [6, 0, 0, 0, 6, 0, 0]
    assert [path.name for path in tmp_path.glob("attack-*")] == ["attack-refused"]


def test_a_local_run_listens_on_this_machine_only(tmp_path: Path) -> None:
    program = """
    def function(block):
        port = f"{int(daisy.Context.from_env()['port']):04X}"
        rows = [row.split() for row in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        rows += [row.split() for row in Path("/proc/net/tcp6").read_text().splitlines()[1:]]
        listening = [row[1] for row in rows if row[3] == "0A" and row[1].endswith(":" + port)]
        note(".", "listening-" + "-".join(address.split(":")[0] for address in listening))

    assert daisy.run_blockwise(line("t", 1, function), progress=False)
    """
    run_well(tmp_path, program)
    assert [path.name for path in tmp_path.glob("listening-*")] == ["listening-0100007F"]


@pytest.mark.parametrize(
    ("task", "then"),
    [("b", "with client.acquire_block(): pass"), ("a", "time.sleep(600)")],
    ids=["waits for a block", "has not asked for one"],
)
def test_a_client_that_is_killed_costs_no_attempt(tmp_path: Path, task: str, then: str) -> None:
    client = f"""
import time
import daisy
values = dict(daisy.Context.from_env().items())
del values["worker_id"]
values["task_id"] = "{task}"
client = daisy.Client(daisy.Context(**values))
print("there", flush=True)
{then}
"""
    program = f"""
    import subprocess

    CLIENT = {client!r}

    def first(block):
        if block.block_id[1] == 0:
            client = subprocess.Popen([sys.executable, "-c", CLIENT], stdout=subprocess.PIPE)
            note(".", "said-" + client.stdout.readline().decode().strip())
            client.kill()
            client.wait()
            client.stdout.close()

    a = line("a", 3, first, max_retries=0, max_workers=1)
    b = line("b", 3, lambda block: None, max_retries=0)
    states = daisy.run_blockwise(a + b, progress=False, return_states=True)
    print(json.dumps([counts(states)[task][4] for task in "ab"]))
    """
    assert json.loads(run_well(tmp_path, program)) == [3, 3]
    assert [path.name for path in tmp_path.glob("said-*")] == ["said-there"]


def test_a_run_speaks_tls_if_told_to(tmp_path: Path) -> None:
    program = """
    def function(block):
        lines = Path(daisy.Context.from_env()["token_file"]).read_text().splitlines()
        note(".", "knows-" + lines[-1].split()[0])

    os.environ["DAISY_TLS"] = "on"
    assert daisy.run_blockwise(line("t", 20, function), progress=False)
    os.environ["DAISY_TLS"] = "yes"
    try:
        daisy.run_blockwise(line("t", 1, function), progress=False)
    except ValueError as error:
        print(error)
    """
    said = run_well(tmp_path, program)
    assert "DAISY_TLS is one of 'auto', 'on' and 'off'; got 'yes'" in said
    assert [path.name for path in tmp_path.glob("knows-*")] == ["knows-certificate-sha256"]
