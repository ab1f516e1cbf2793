"""What differs between job engines, as data: the table that the launchers of jobs are driven by."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from daisy.launchers._protocol import State


@dataclass(frozen=True)
class Wish:
    """What one array job is asked for, in words that no engine owns.

    Attributes:
        name: Name of the job; short, for engines that allow no more.
        title: The same with the task's name in it.
        count: How many workers.
        queue: Queue or partition.
        account: Whom to charge.
        walltime_s: Longest life of a worker.
        notice_s: How long before its end a worker is told.
        cpus: Processors per worker.
        gpus: GPUs per worker.
        mem_mb: Memory per worker.
        log_dir: Folder for what the engine itself says about the workers.
        extra: Further arguments for the engine.
    """

    name: str
    title: str
    count: int
    queue: str | None
    account: str | None
    walltime_s: float | None
    notice_s: float
    cpus: int
    gpus: int
    mem_mb: int
    log_dir: Path | None
    extra: Sequence[str]


@dataclass(frozen=True)
class Seen:
    """What an engine says of one element of an array job.

    Attributes:
        state: Where it is; UNKNOWN if its word means nothing to us.
        word: The engine's word for that.
        reason: Why it waits, or how it ended.
        exit_code: If the engine tells: negative for a signal.
        node: Where it runs.
        out_of_memory: Whether it died of too little memory.
        outside: Whether the engine or someone ended it, by no fault of its own.
        name: Name of its job.
    """

    state: State
    word: str = ""
    reason: str = ""
    exit_code: int | None = None
    node: str = ""
    out_of_memory: bool = False
    outside: bool = False
    name: str = ""


@dataclass(frozen=True)
class Dialect:
    """How one engine is spoken to.

    Attributes:
        name: Name of the engine.
        commands: The programs that must be there.
        submit: Arguments that submit the script on standard input as an array job.
        job_id: Finds the id of the job in what the engine answers.
        first_index: Index of the first element of an array.
        index_variable: Shell variable that has the index inside a job.
        query: Arguments that ask for all elements of these jobs.
        read: What the answer says, by job id and index.
        unknown_jobs: Words in an error that mean: these jobs have left the queue long ago.
        cancel: Arguments that end elements, politely or (the second) at once.
        element: How an element is named when it is cancelled.
        job_of: The id of the job in such a name.
        log: Name of the file in which the engine writes what an element said to it; by default made from both names.
        hopeless: Reasons for which a job waits for ever.
        grace_s: Time from the first signal of a cancelled job to its death.
        own_variables: Beginnings of variables of a job that the jobs it submits must not inherit.
        keep_variables: Variables that they must, although they begin so.
        keeps_finished: Whether the query shows elements that have ended.
        hides_environment: Whether only the user and the worker can see a job's environment.
        books: Arguments that ask how an element ended that the query does not show any more.
        read_books: What the answer says, or None if it is not in the books.
        books_late_s: How long after its end an element may come into the books.
        grace_from: Asks the engine for ``grace_s``.
    """

    name: str
    commands: Sequence[str]
    submit: Callable[[Wish], list[str]]
    job_id: Callable[[str], str]
    first_index: int
    index_variable: str
    query: Callable[[Sequence[str]], list[str]]
    read: Callable[[str], Iterable[tuple[str, int, Seen]]]
    unknown_jobs: Sequence[str]
    cancel: Callable[[Sequence[str], bool], list[list[str]]]
    element: Callable[[str, int], str]
    job_of: Callable[[str], str]
    hopeless: Callable[[str], bool]
    grace_s: float
    own_variables: Sequence[str] = ()
    keep_variables: Sequence[str] = ()
    log: Callable[[str, int], str] | None = None
    keeps_finished: bool = True
    hides_environment: bool = True
    books: Callable[[str, int], list[str]] | None = None
    read_books: Callable[[str], Seen | None] = field(default=lambda _answer: None)
    books_late_s: float = 0.0
    grace_from: Callable[[], float | None] = field(default=lambda: None)


def state_of(word: str, states: Mapping[str, State]) -> State:
    """The state that an engine's word stands for; what is not known is no death."""
    return states.get(word, State.UNKNOWN)


def hours(seconds: float) -> str:
    """A duration as ``H:MM:SS``, rounded up to whole seconds."""
    whole = int(-(-seconds // 1))
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"
