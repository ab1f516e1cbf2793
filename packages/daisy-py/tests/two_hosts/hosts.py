"""Hosts that are network namespaces behind one switch, whose cables can be pulled."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

HOSTS = ("driver", "near", "far")
V4 = "10.77.0."
V6 = "fd77::"


def ip(*arguments: str) -> str:
    """Run iproute2; what it said."""
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def obstacle() -> str | None:
    """Why there can be no hosts here, if so."""
    if sys.platform != "linux":
        return "network namespaces are Linux's"
    if os.geteuid() != 0:
        return "network namespaces need root"
    if shutil.which("ip") is None:
        return "there is no `ip`: install iproute2"
    try:
        ip("netns", "add", f"daisy{os.getpid()}")
        ip("netns", "delete", f"daisy{os.getpid()}")
    except OSError as error:
        return f"no network namespace can be made: {error}"
    return None


class Hosts:
    """A driver's host and two for workers: ``driver`` is number 1 of the network, ``near`` 2, ``far`` 3."""

    def __init__(self) -> None:
        self._names = {host: f"daisy{os.getpid()}-{host}" for host in (*HOSTS, "switch")}

    def __enter__(self) -> Hosts:
        for name in self._names.values():
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        switch = self._names["switch"]
        ip("-n", switch, "link", "add", "bridge0", "type", "bridge")
        ip("-n", switch, "link", "set", "bridge0", "up")
        for number, host in enumerate(HOSTS, start=1):
            name = self._names[host]
            ip("-n", switch, "link", "add", host, "type", "veth", "peer", "net0", "netns", name)
            ip("-n", switch, "link", "set", host, "master", "bridge0", "up")
            ip("-n", name, "link", "set", "net0", "up")
            self.add_address(host, f"{V4}{number}/24")
            self.add_address(host, f"{V6}{number}/64")
        return self

    def __exit__(self, *_: object) -> None:
        for name in self._names.values():
            subprocess.run(["ip", "netns", "delete", name], check=False)

    def add_address(self, host: str, address: str) -> None:
        """Give a host one more address, usable at once."""
        no_wait = ["nodad"] if ":" in address else []
        ip("-n", self._names[host], "address", "add", address, "dev", "net0", *no_wait)

    def black_hole(self, host: str, address: str) -> None:
        """What this host sends to the address vanishes without a word."""
        name = self._names[host]
        ip("-n", name, "route", "add", address, "dev", "net0")
        nobody = ["lladdr", "02:00:00:00:00:99", "nud", "permanent"]
        ip("-n", name, "neighbour", "add", address, *nobody, "dev", "net0")

    def pull_cable(self, host: str) -> None:
        """Between this host and the others nothing passes; neither side is told."""
        ip("-n", self._names["switch"], "link", "set", host, "nomaster")

    def plug_cable(self, host: str) -> None:
        """It passes again."""
        ip("-n", self._names["switch"], "link", "set", host, "master", "bridge0")

    def command(self, host: str, *arguments: str) -> list[str]:
        """The command that runs a program on a host."""
        return ["ip", "netns", "exec", self._names[host], *arguments]

    def start(
        self, host: str, script: Path, arguments: Sequence[str], env: dict[str, str]
    ) -> subprocess.Popen[str]:
        """Start a Python program on a host."""
        return subprocess.Popen(
            self.command(host, sys.executable, str(script), *arguments),
            cwd=script.parent,
            env={**os.environ, **env},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def is_connected(self, driver: int, number: int) -> bool:
        """Whether a process has an established connection to host ``number``."""
        remote = "".join(f"{part:02X}" for part in reversed((10, 77, 0, number)))
        rows = Path(f"/proc/{driver}/net/tcp").read_text().splitlines()[1:]
        fields = [row.split() for row in rows]
        return any(row[2].startswith(remote) and row[3] == "01" for row in fields)
