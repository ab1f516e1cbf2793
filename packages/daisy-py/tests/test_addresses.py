"""Where a run listens: by address, name or interface, on a port or one of a range."""

from __future__ import annotations

import socket
import sys
from pathlib import Path
from typing import Any

import daisy
import pytest
from quiet_runs import blocks, run


def listened(folder: Path, **options: Any) -> tuple[str, int]:
    """Run something; the first address that its worker was told."""

    def process(block: daisy.Block) -> None:
        (folder / "address").write_text(daisy.Context.from_env()["addresses"])

    run(blocks(1, process), **options).raise_for_failures()
    first = (folder / "address").read_text().split(",")[0]
    host, _, port = first.rpartition(":")
    return host, int(port)


def is_free(address: str) -> bool:
    """Whether one can listen there."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family) as tried:
            tried.bind((address, 0))
    except OSError:
        return False
    return True


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "[::1]", "lo"])
def test_a_host_by_address_name_or_interface(tmp_path: Path, host: str) -> None:
    if ":" in host and not is_free("::1"):
        pytest.skip("this machine speaks no IPv6")
    if host == "lo" and sys.platform != "linux":
        pytest.skip("the loopback interface has another name here")
    told, _ = listened(tmp_path, host=host)
    expected = {"[::1]"} if ":" in host else {"127.0.0.1", "[::1]"}
    assert told in expected


def test_the_environment_may_say_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAISY_HOST", "127.0.0.2" if is_free("127.0.0.2") else "127.0.0.1")
    assert listened(tmp_path)[0] in ("127.0.0.2", "127.0.0.1")
    assert listened(tmp_path, host="127.0.0.1")[0] == "127.0.0.1"


@pytest.mark.parametrize("form", ["number", "tuple", "range"])
def test_a_port_or_one_of_a_range(tmp_path: Path, form: str) -> None:
    """The first that is free."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        first = taken.getsockname()[1]
        last = min(first + 40, 65535)
        forms = {"tuple": (first, last), "range": range(first, last + 1)}
        if form != "number":
            _, port = listened(tmp_path, port=forms[form])
            assert first < port <= last
            return
        with pytest.raises(daisy.errors.DaisyError, match=rf"port {first} on 127\.0\.0\.1"):
            listened(tmp_path, port=first)
    assert listened(tmp_path, port=first) == ("127.0.0.1", first)


@pytest.mark.parametrize(
    "port", ["5000-5100", 70000, -1, True, (5000,), (5100, 5000), ("a", "b"), range(5000, 5100, 2)]
)
def test_what_is_no_port_is_refused_by_name(port: Any) -> None:
    with pytest.raises((TypeError, ValueError)) as refused:
        run(blocks(1, print), port=port)
    said = str(refused.value)
    assert "'port'" in said
    assert repr(port) in said
    assert "a port number from 0 to 65535, or a range of them" in said
