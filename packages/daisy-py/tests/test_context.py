"""The context of a worker, through environments and processes."""

from __future__ import annotations

import os
import subprocess
import sys

import daisy
import pytest

AWKWARD = {
    "addresses": "[::1]:4711,10.0.0.1:80",
    "task_id": "a task: 50% = ünïcode, \"quoted\" 'x' 块",
    "worker_id": "3",
    "logdir": "/data/my logs/日本語:x=y&z;$HOME\n",
    "token_file": "/tmp/tok en",
}


def test_round_trip_through_a_fresh_interpreter_and_a_shell() -> None:
    context = daisy.Context(**AWKWARD)
    code = "import daisy,sys; sys.stdout.write(daisy.Context.from_env().to_env())"
    # Two levels deep, through a shell.
    command = f'{sys.executable} -c \'import os; os.system("""{sys.executable} -c "{code}" """)\''
    done = subprocess.run(
        command,
        shell=True,
        env={**os.environ, "DAISY_CONTEXT": context.to_env()},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert daisy.Context.from_env_string(done.stdout) == context
    assert context.addresses == ["[::1]:4711", "10.0.0.1:80"]


def test_it_is_a_mapping_of_text(monkeypatch: pytest.MonkeyPatch) -> None:
    context = daisy.Context(task_id="t", hostname="::1", port="3")
    assert context["task_id"] == "t"
    assert context.get("nothing", "x") == "x"
    assert "logdir" in context
    assert len(context) == len(list(context)) == len(context.keys()) == len(context.items())
    assert context.copy() == context
    assert context.addresses == ["[::1]:3"]
    with pytest.raises(TypeError):
        daisy.Context(task_id=[])
    monkeypatch.delenv("DAISY_CONTEXT", raising=False)
    with pytest.raises(KeyError, match="DAISY_CONTEXT not found"):
        daisy.Context.from_env()
    with pytest.raises(ValueError, match="DAISY_CONTEXT"):
        daisy.Context.from_env_string("hostname=a:port=3")


def test_a_client_of_a_run_that_is_over_ends_cleanly(
    tmp_path: object, caplog: pytest.LogCaptureFixture
) -> None:
    context = daisy.Context(
        task_id="t", addresses="127.0.0.1:1", token_file="/nonexistent", worker_id="0"
    )
    client = daisy.Client(context)
    assert not client.connected
    assert (client.host, client.port, client.task_id) == ("127.0.0.1", 1, "t")
    with client.acquire_block() as block:
        assert block is None
    assert "ended" in caplog.text
