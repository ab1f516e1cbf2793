"""What a worker must know to find its run."""

from __future__ import annotations

import json
import os
import threading
from binascii import a2b_base64, b2a_base64

from daisy import _fork
from daisy._settings import CONTEXT_VARIABLE

# typing takes long to import, and every worker imports this.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import ItemsView, Iterator, KeysView, ValuesView
    from typing import Any

_PREFIX = "daisy1."
_VERSION = 1


class Context:
    """What a worker must know to find its run: text by name.

    Workers find it in the environment variable ``DAISY_CONTEXT``. There it is one record, base64 of JSON,
    so that addresses, colons, spaces and letters of any script survive shells and job managers. The
    run's secret is not in it, only the path of the file that holds it.

    Args:
        **values: Text by name (an ``int`` or a path becomes text): ``addresses`` (separated by commas), ``task_id``,
            ``worker_id``, ``logdir``, ``token_file``, ``resource_tracking``, …

    Raises:
        TypeError: A value that is no text.

    >>> from daisy import Context
    >>> context = Context(task_id="extract", logdir="/data/my logs: ünïcode")
    >>> Context.from_env_string(context.to_env())["logdir"]
    '/data/my logs: ünïcode'
    >>> sorted(context.keys()), context.get("worker_id", "none")
    (['logdir', 'task_id'], 'none')
    >>> context.copy() == Context(**dict(context.items()))
    True
    >>> "extract" in context.values()
    True
    """

    ENV_VARIABLE = CONTEXT_VARIABLE

    def __init__(self, **values: str) -> None:
        self._values: dict[str, str] = {}
        for key, value in values.items():
            self[key] = value
        if "logdir" not in self._values:
            from daisy import logging  # noqa: PLC0415 - logging asks for the context of its thread

            basedir = logging.get_log_basedir()
            self._values["logdir"] = "" if basedir is None else str(basedir)

    def __setitem__(self, key: str, value: str) -> None:
        given: object = value
        if isinstance(given, os.PathLike):
            given = os.fspath(given)
        if not isinstance(given, str | int):
            raise TypeError(f"context {key!r}: expected text, got {value!r}")
        self._values[key] = str(given)

    def __getitem__(self, key: str) -> str:
        return self._values[key]

    def get(self, key: str, default: Any = None) -> Any:
        """The value, or ``default``.

        Args:
            key: Name of the value.
            default: What there is instead.

        Returns:
            Text, or ``default``.
        """
        return self._values.get(key, default)

    def keys(self) -> KeysView[str]:
        """The names."""
        return self._values.keys()

    def values(self) -> ValuesView[str]:
        """The values."""
        return self._values.values()

    def items(self) -> ItemsView[str, str]:
        """Names and values."""
        return self._values.items()

    def __contains__(self, key: object) -> bool:
        return key in self._values

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Context) and self._values == other._values

    __hash__ = None  # type: ignore[assignment]

    def copy(self) -> Context:
        """A context of its own with the same values."""
        return Context(**self._values)

    @property
    def addresses(self) -> list[str]:
        """Where the server may be reached, best first."""
        if self._values.get("addresses"):
            return self._values["addresses"].split(",")
        host, port = self._values.get("hostname"), self._values.get("port")
        if not host or not port:
            return []
        return [f"[{host}]:{port}" if ":" in host else f"{host}:{port}"]

    def to_env(self) -> str:
        """The record for ``DAISY_CONTEXT``."""
        record = json.dumps({"version": _VERSION, **self._values}, separators=(",", ":"))
        text = b2a_base64(record.encode(), newline=False).decode()
        return _PREFIX + text.replace("+", "-").replace("/", "_")

    @classmethod
    def from_env_string(cls, text: str) -> Context:
        """The context of such a record.

        Args:
            text: What :meth:`to_env` gave.

        Returns:
            The context.

        Raises:
            ValueError: If it is none, or of another version.
        """
        try:
            if not text.startswith(_PREFIX):
                raise ValueError(f"it does not begin with {_PREFIX!r}")
            plain = text[len(_PREFIX) :].replace("-", "+").replace("_", "/")
            record = json.loads(a2b_base64(plain.encode()))
            if not isinstance(record, dict) or record.pop("version", None) != _VERSION:
                raise ValueError(f"it is not of version {_VERSION}")
        except ValueError as error:
            raise ValueError(
                f"{CONTEXT_VARIABLE}: expected the record that a daisy {_VERSION} run gave out, "
                f"got {text[:80]!r} ({error})"
            ) from error
        return cls(**{str(key): str(value) for key, value in record.items()})

    @classmethod
    def from_file_or_text(cls, text: str) -> Context:
        """The context of a record, or of a file that has one.

        Args:
            text: The record, or the path of the file.

        Returns:
            The context.

        Raises:
            OSError: If the file cannot be read.
            ValueError: If it has none.

        >>> import daisy
        >>> with open("copy.context", "w") as file:
        ...     size = file.write(daisy.Context(task_id="copy").to_env())
        >>> daisy.Context.from_file_or_text("copy.context")["task_id"]
        'copy'
        """
        if not text.startswith(_PREFIX):
            with open(text, encoding="utf-8") as file:
                text = file.read().strip()
        return cls.from_env_string(text)

    @classmethod
    def from_env(cls) -> Context:
        """The context of this thread, if a run started it, or of this process.

        Raises:
            KeyError: If there is none.
        """
        own: Context | None = getattr(_of_thread, "context", None)
        if own is not None:
            return own
        if CONTEXT_VARIABLE not in os.environ:
            _fork.asked_who_it_is = True
            raise KeyError(
                f"{CONTEXT_VARIABLE} not found: this process was not started as a worker of a run"
            )
        return cls.from_env_string(os.environ[CONTEXT_VARIABLE])

    def __repr__(self) -> str:
        return f"Context({', '.join(f'{key}={value!r}' for key, value in self._values.items())})"


Context.__module__ = "daisy"


class _OfThread(threading.local):
    """What belongs to one thread; pickled, it is a fresh one."""

    def __reduce__(self) -> tuple[type[_OfThread], tuple[()]]:
        return (_OfThread, ())


_of_thread = _OfThread()


def set_context_of_thread(context: Context | None) -> None:
    """Give this thread a context of its own: workers that are threads share one environment."""
    _of_thread.context = context


def context_of_thread() -> Context | None:
    """The context of this thread, if it is a worker."""
    context: Context | None = getattr(_of_thread, "context", None)
    return context
