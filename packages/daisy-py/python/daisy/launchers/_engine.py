"""The programs of a job engine: calling them, and noticing that the engine is silent."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping, Sequence

from daisy._errors import LauncherError
from daisy.launchers._dialect import Dialect, Seen
from daisy.logging import logger

_QUERY_SECONDS = 30.0
_SILENCE_WORD_S = 60.0
_SILENT_WORDS = (
    "contact",
    "connect",
    "communication",
    "not responding",
    "temporarily",
    "timed out",
    "try again",
    "unavailable",
)


class Engine:
    """Calls the programs of one engine.

    Args:
        dialect: How it is spoken to.

    Attributes:
        was_silent: Whether it ever failed to answer: what it did meanwhile is not known then.
    """

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.was_silent = False
        self._said_at = -_SILENCE_WORD_S

    def query(self, jobs: Sequence[str]) -> dict[tuple[str, int], Seen] | None:
        """What the engine says of these jobs; None if it says nothing, which is never taken for death."""
        answer = self.call(self.dialect.query(jobs))
        if answer is None:
            return None
        said = answer.stderr + answer.stdout
        # Of several jobs, some may be known although the engine complains about the others.
        if answer.returncode != 0 and not any(words in said for words in self.dialect.unknown_jobs):
            self.note_silence(self.dialect.commands[1], said)
            return None
        return {(job, index): seen for job, index, seen in self.dialect.read(answer.stdout)}

    def end_of(self, job: str, index: int) -> Seen | None:
        """How an element ended that has left the queue, if the engine keeps books of that."""
        if self.dialect.books is None:
            return None
        answer = self.call(self.dialect.books(job, index))
        if answer is None or answer.returncode != 0:
            return None
        return self.dialect.read_books(answer.stdout)

    def call(
        self,
        argv: Sequence[str],
        limit: float = _QUERY_SECONDS,
        text: str = "",
        env: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str] | None:
        """Run a program of the engine; None if it does not end in time, or cannot reach the engine.

        Raises:
            LauncherError: The program cannot be run at all.
        """
        try:
            answer = subprocess.run(
                argv,
                input=text,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=limit,
                env=env,
                check=False,
                # Ctrl-C in a terminal is for the driver, which may be about to cancel its jobs with this.
                process_group=0,
            )
        except subprocess.TimeoutExpired:
            self.note_silence(argv[0], f"no answer within {limit:g} s")
            return None
        except OSError as error:
            raise LauncherError(f"{argv[0]} cannot be run: {error}") from error
        if answer.returncode != 0 and is_silence(answer.stderr):
            self.note_silence(argv[0], answer.stderr)
            return None
        return answer

    def note_silence(self, program: str, said: str) -> None:
        """Remember, and say once a minute, that the engine does not answer."""
        self.was_silent = True
        now = time.monotonic()
        if now - self._said_at > _SILENCE_WORD_S:
            self._said_at = now
            logger.warning(
                "%s does not answer (%s); no worker is given up for that",
                program,
                " ".join(said.split())[:200],
            )


def is_silence(said: str) -> bool:
    """Whether an engine could not be reached, as against: it does not want what it is asked for."""
    return any(word in said.lower() for word in _SILENT_WORDS)
