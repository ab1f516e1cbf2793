"""One factory of workers for each environment that they start in."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from daisy._settings import CONTEXT_VARIABLE
from daisy.launchers._factory import Factory
from daisy.launchers._protocol import WorkerSpec
from daisy.logging import logger
from daisy.worker import BOOTSTRAP

_MOST = 4
_Key = tuple[tuple[str, ...], str, frozenset[tuple[str, str]]]

_CAN_FORK = sys.platform == "linux" and hasattr(os, "pidfd_open") and hasattr(os, "memfd_create")


class Factories:
    """Factories by what they were started with.

    Numerical libraries read how many threads they may start when they are imported, so that workers with other
    variables need another factory.

    Attributes:
        are_allowed: Whether there may be any.
    """

    def __init__(self) -> None:
        self.are_allowed = True
        self._factories: dict[_Key, Factory | None] = {}

    def get(self, spec: WorkerSpec, env: Mapping[str, str]) -> Factory | None:
        """The factory of workers with this specification and environment; None if they are not to be forked."""
        *interpreter, program = spec.argv
        if not (_CAN_FORK and self.are_allowed) or program != BOOTSTRAP:
            return None
        # A driver may be a worker of another run.
        env = {name: value for name, value in env.items() if name != CONTEXT_VARIABLE}
        key = (tuple(interpreter), spec.cwd or os.getcwd(), frozenset(env.items()))
        if key not in self._factories:
            if not self._make_room():
                return None
            self._factories[key] = self._started(interpreter, env, spec.cwd)
        factory = self._factories[key]
        return factory if factory is not None and factory.is_usable else None

    def _make_room(self) -> bool:
        for key, factory in list(self._factories.items()):
            if len(self._factories) < _MOST:
                break
            if factory is None or factory.is_idle:
                del self._factories[key]
                if factory is not None:
                    factory.close()
        return len(self._factories) < _MOST

    def _started(self, interpreter: list[str], env: Mapping[str, str], cwd: str) -> Factory | None:
        try:
            return Factory(interpreter, env, cwd)
        except OSError as error:
            logger.debug("workers cannot be forked: %s", error)
            return None

    def hear(self) -> None:
        """Take in what the factories have to say."""
        for factory in self._factories.values():
            if factory is not None:
                factory.hear()

    def close(self) -> None:
        """End all of them, and with them what they forked."""
        for factory in self._factories.values():
            if factory is not None:
                factory.close()
        self._factories.clear()
