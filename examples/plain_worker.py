"""A worker without daisy: sockets, TLS and msgpack only.

It speaks docs/design/PROTOCOL.md and shows what a worker in another language has to do. This one keeps
its connection for as long as it lives and does not come back if it is cut; the heartbeat has a thread
of its own, so that a long block is not taken for a dead worker.

A run starts it as the worker of a task like this; it finds the run through DAISY_CONTEXT::

    def worker():
        subprocess.run([sys.executable, "plain_worker.py"], check=True)

    daisy.Task("extract", total_roi, read_roi, write_roi, worker)

Started by hand, it must be told where the run is::

    python plain_worker.py HOST:PORT TOKEN_FILE TASK
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import math
import os
import socket
import ssl
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgpack  # type: ignore[import-untyped]

VERSION = 1
NO_WORKER = 2**64 - 1
MAX_FRAME = 16777216
MOST_TEXT = 2000  # letters, of which each may take four bytes

# Types of messages.
HELLO, PROOF, REGISTER, REPORTS, RETURN, DRAINING, HEARTBEAT, GOODBYE, READY = range(1, 10)
(
    CHALLENGE,
    SERVER_PROOF,
    WELCOME,
    GRANTS,
    DISMISS,
    KILL,
    SERVER_HEARTBEAT,
    REFUSED,
    REPORT_REFUSED,
) = range(17, 26)

Box = tuple[list[int], list[int]]
"""Begin and end, per axis."""


@dataclass(frozen=True, repr=False)
class Token:
    """What is in a token file: the secret of a run, and the digest of its certificate if it speaks TLS."""

    secret: bytes
    certificate: bytes | None = None

    @classmethod
    def read(cls, path: str) -> Token:
        """The token of a file."""
        content = Path(path).read_bytes()
        if len(content) == 32:
            return cls(content)  # as the first version wrote it
        title, *lines = content.decode().splitlines()
        if title != "daisy-token 2":
            raise ValueError(f"{path}: expected a token file of version 2, got {title!r}")
        values = dict(line.split(" ", 1) for line in lines)
        certificate = values.get("certificate-sha256")
        digest = None if certificate is None else bytes.fromhex(certificate)
        return cls(bytes.fromhex(values["secret"]), digest)


def secure(plain: socket.socket, certificate: bytes) -> ssl.SSLSocket:
    """TLS with the server of this certificate: its digest is checked, and nothing else that it says."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    secured = context.wrap_socket(plain)
    got = hashlib.sha256(secured.getpeercert(binary_form=True) or b"").digest()
    if not hmac.compare_digest(got, certificate):
        raise ConnectionError("the server's certificate is not the one that the token file names")
    return secured


class Connection:
    """Frames over a socket: a big-endian length, then a MessagePack array."""

    def __init__(self, host: str, port: int, certificate: bytes | None) -> None:
        self.socket = socket.create_connection((host, port), timeout=5)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if certificate is not None:
            self.socket = secure(self.socket, certificate)
        self._sending = threading.Lock()

    def send(self, *message: Any) -> None:
        """Sends a message, whole and in one piece."""
        body = msgpack.packb(list(message))
        with self._sending:
            self.socket.sendall(struct.pack(">I", len(body)) + body)

    def receive(self) -> list[Any] | None:
        """The next message; None if the server closed the connection."""
        header = self._read(4)
        if header is None:
            return None
        (length,) = struct.unpack(">I", header)
        if not 1 <= length <= MAX_FRAME:
            raise ConnectionError(f"a frame has an impossible length: {length} bytes")
        body = self._read(length)
        if body is None:
            raise ConnectionError("the connection ended inside a frame")
        message: list[Any] = msgpack.unpackb(body)
        if message[0] == REFUSED:
            raise ConnectionRefusedError(message[2])
        return message

    def _read(self, count: int) -> bytes | None:
        parts = bytearray()
        while len(parts) < count:
            part = self.socket.recv(count - len(parts))
            if not part and parts:
                raise ConnectionError("the connection ended inside a frame")
            if not part:
                return None
            parts += part
        return bytes(parts)

    def leave(self) -> None:
        """Says good-bye, and reads to the end: closed with unread data, the last reports could be lost."""
        self.send(GOODBYE)
        self.socket.shutdown(socket.SHUT_WR)
        while self.socket.recv(4096):
            pass
        self.socket.close()


def expect(message: list[Any] | None, kind: int) -> list[Any]:
    """What follows the type of a message that must be of this type."""
    if message is None or message[0] != kind:
        raise ConnectionError(f"expected message {kind}, got {message}")
    return message[1:]


def shake_hands(connection: Connection, secret: bytes, worker: int | None) -> None:
    """Has both sides prove that they know the token."""
    own = os.urandom(32)
    connection.send(HELLO, "daisy", VERSION, own)
    magic, version, server = expect(connection.receive(), CHALLENGE)
    if (magic, version) != ("daisy", VERSION):
        raise ConnectionError(f"the server speaks version {version}, this worker {VERSION}")
    said = own + server + struct.pack(">Q", NO_WORKER if worker is None else worker)

    def proof(role: bytes) -> bytes:
        return hmac.digest(secret, b"daisy/1 " + role + said, hashlib.sha256)

    connection.send(PROOF, worker, proof(b"worker"))
    [answer] = expect(connection.receive(), SERVER_PROOF)
    if not hmac.compare_digest(answer, proof(b"server")):
        raise ConnectionError("the server does not know the token of this run")


@dataclass(frozen=True)
class Layout:
    """Where the blocks of a task are."""

    fit: str
    total_begin: list[int]
    total_shape: list[int]
    write_shape: list[int]
    context_lower: list[int]
    context_upper: list[int]

    def boxes(self, index: int) -> tuple[Box, Box]:
        """The read box and the write box of a block."""
        read: Box = ([], [])
        write: Box = ([], [])
        for axis, position in enumerate(self.position(index)):
            lower, upper = self.context_lower[axis], self.context_upper[axis]
            total_end = self.total_begin[axis] + self.total_shape[axis]
            begin = self.total_begin[axis] + lower + position * self.write_shape[axis]
            end = begin + self.write_shape[axis]
            if self.fit == "shrink":
                end = min(end, total_end - upper)
            read[0].append(begin - lower)
            read[1].append(end + upper)
            write[0].append(begin)
            write[1].append(end)
        return read, write

    def position(self, index: int) -> list[int]:
        """The place of a block in the grid; the last axis runs fastest."""
        position = []
        for count in reversed(self.grid()):
            index, place = divmod(index, count)
            position.append(place)
        return position[::-1]

    def grid(self) -> list[int]:
        """How many blocks there are along each axis."""
        axes = zip(
            self.total_shape, self.context_lower, self.context_upper, self.write_shape, strict=True
        )
        sizes = [(max(total - lower - upper, 0), step) for total, lower, upper, step in axes]
        if self.fit == "valid":
            return [size // step for size, step in sizes]
        return [math.ceil(size / step) for size, step in sizes]


def grants(connection: Connection) -> Iterator[list[list[int]]]:
    """Blocks as they are granted, until the server has nothing left."""
    while (message := connection.receive()) is not None:
        if message[0] == GRANTS:
            yield message[2]
        elif message[0] in (DISMISS, KILL):
            return


def beat(connection: Connection, seconds: float, stop: threading.Event) -> None:
    """Says every now and then that this worker is alive."""
    while not stop.wait(seconds):
        try:
            connection.send(HEARTBEAT)
        except OSError:
            return  # the connection is lost, which the reading side is told, too


@dataclass(frozen=True)
class Place:
    """Where the run is, and who this worker is in it."""

    address: str
    token: Token
    task: str
    worker: int | None = None

    @classmethod
    def from_context(cls, record: str) -> Place:
        """The place that a run tells the workers that it starts: base64 of JSON behind a mark."""
        values = json.loads(base64.urlsafe_b64decode(record.removeprefix("daisy1.")))
        return cls(
            address=values["addresses"].split(",")[0],
            token=Token.read(values["token_file"]),
            task=values["task_id"],
            worker=int(values["worker_id"]),
        )

    def join(self) -> tuple[Connection, list[Any]]:
        """A registered connection, and what the server said to welcome it."""
        host, _, port = self.address.rpartition(":")
        connection = Connection(host.strip("[]"), int(port), self.token.certificate)
        shake_hands(connection, self.token.secret, self.worker)
        connection.send(REGISTER, self.task, os.urandom(16), 0, [])
        return connection, expect(connection.receive(), WELCOME)


def work(place: Place, process: Callable[[Box, Box], None]) -> int:
    """Processes blocks until there are none left; how many."""
    connection, welcome = place.join()
    heartbeat, layout = welcome[2] / 1000, Layout(*welcome[6])
    connection.socket.settimeout(6 * heartbeat)
    stop = threading.Event()
    threading.Thread(target=beat, args=(connection, heartbeat, stop), daemon=True).start()
    count = 0
    connection.send(READY, 16)  # from now on blocks may come
    for blocks in grants(connection):
        reports: list[list[Any]] = []
        for index, attempt in blocks:
            began, error = time.monotonic_ns(), None
            try:
                process(*layout.boxes(index))
            except Exception as problem:  # noqa: BLE001 - whatever it is, the driver decides what follows
                error = f"{type(problem).__name__}: {problem}"[-MOST_TEXT:]
            reports.append([index, attempt, time.monotonic_ns() - began, error, None])
            count += 1
        connection.send(REPORTS, reports)
    stop.set()
    connection.leave()
    return count


def show(read: Box, write: Box) -> None:
    """Does what a worker does with a block; this one only says where it is."""
    print(f"read {read[0]} to {read[1]}, write {write[0]} to {write[1]}")


def main() -> None:
    """Processes blocks of the run that the arguments or the environment name."""
    if len(sys.argv) == 4:
        address, token_file, task = sys.argv[1:]
        place = Place(address, Token.read(token_file), task)
    elif "DAISY_CONTEXT" in os.environ:
        place = Place.from_context(os.environ["DAISY_CONTEXT"])
    else:
        print(__doc__)
        return
    print(f"{work(place, show)} blocks processed")


if __name__ == "__main__":
    main()
