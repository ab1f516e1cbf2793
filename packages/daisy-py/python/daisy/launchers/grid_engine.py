"""Grid Engine: SGE and those that came of it."""

from __future__ import annotations

import getpass
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

from daisy.launchers._batch import BatchLauncher
from daisy.launchers._dialect import Dialect, Seen, Wish, hours
from daisy.launchers._protocol import State

# What the field `failed` says. 37: it ran for too long; 100: a signal ended it.
_CODE_IS_TRUE = {"0", "37", "100"}
# 19: its host was lost; 24, 25: it was taken off its host.
_OUTSIDE = {"19", "24", "25"}


def _submit(wish: Wish, parallel: str, memory: str, gpu: str) -> list[str]:
    log = f"{wish.log_dir}/sge-$JOB_ID.$TASK_ID.log" if wish.log_dir else "/dev/null"
    argv = ["qsub", "-terse", "-N", wish.title, "-t", f"1-{wish.count}", "-S", "/bin/sh", "-cwd"]
    argv += ["-r", "n", "-notify", "-j", "y", "-o", log]
    if wish.queue:
        argv += ["-q", wish.queue]
    if wish.account:
        argv += ["-P", wish.account]
    if wish.walltime_s:
        soft = max(1.0, wish.walltime_s - wish.notice_s)
        argv += ["-l", f"h_rt={hours(wish.walltime_s)},s_rt={hours(soft)}"]
    if wish.cpus > 1:
        argv += ["-pe", parallel, str(wish.cpus)]
    if wish.gpus:
        argv += ["-l", f"{gpu}={wish.gpus}"]
    if wish.mem_mb:
        # It is asked for per slot.
        argv += ["-l", f"{memory}={-(-wish.mem_mb // max(1, wish.cpus))}M"]
    return [*argv, *wish.extra]


def _job_id(answer: str) -> str:
    found = re.match(r"(\d+)\.", answer.strip()) or re.search(
        r"[Yy]our job(?:-array)? (\d+)", answer
    )
    return found[1] if found else ""


def _read(answer: str) -> Iterable[tuple[str, int, Seen]]:
    try:
        # From a program of the user's own cluster.
        tree = ElementTree.fromstring(answer)
    except ElementTree.ParseError:
        return
    for job in tree.iter("job_list"):
        index = job.findtext("tasks") or "1"
        if not index.isdecimal():
            continue  # a range of elements that wait is shown one by one with -g d
        word = job.findtext("state") or ""
        yield (
            job.findtext("JB_job_number") or "",
            int(index),
            replace(_seen(word, job.findtext("queue_name")), name=job.findtext("JB_name") or ""),
        )


def _seen(word: str, queue: str | None) -> Seen:
    node = (queue or "").rpartition("@")[2]
    if "E" in word:
        return Seen(State.QUEUED, word, "the job is in an error state (Eqw)", node=node)
    if "r" in word or "t" in word:
        return Seen(State.RUNNING, word, "", node=node)
    if "q" in word or "h" in word:
        return Seen(State.QUEUED, word, "held" if "h" in word else "", node=node)
    is_stopped = any(letter in word for letter in "sST")
    return Seen(State.QUEUED if is_stopped else State.UNKNOWN, word, node=node)


def _read_books(answer: str) -> Seen | None:
    status = re.search(r"^exit_status\s+(\d+)", answer, re.MULTILINE)
    failed = re.search(r"^failed\s+(\d+)\s*:?\s*(.*)$", answer, re.MULTILINE)
    if status is None:
        return None
    node = re.search(r"^hostname\s+(\S+)", answer, re.MULTILINE)
    trouble = failed[1] if failed else "0"
    code: int | None = int(status[1])
    if code is not None and 128 < code < 128 + 65:
        code = 128 - code
    if trouble not in _CODE_IS_TRUE:
        code = None
    reason = " ".join((failed[2] if failed else "").split())
    is_bad = code != 0 or trouble not in ("0", "100")
    word = "FAILED" if is_bad else "DONE"
    state = State.FAILED if is_bad else State.EXITED
    why = reason or (f"exit status {status[1]}" if is_bad else "")
    return Seen(state, word, why, code, node[1] if node else "", outside=trouble in _OUTSIDE)


def _dialect(parallel: str, memory: str, gpu: str) -> Dialect:
    return Dialect(
        name="sge",
        commands=("qsub", "qstat", "qdel"),
        submit=lambda wish: _submit(wish, parallel, memory, gpu),
        job_id=_job_id,
        first_index=1,
        index_variable="SGE_TASK_ID",
        query=lambda _jobs: ["qstat", "-u", getpass.getuser(), "-g", "d", "-xml"],
        read=_read,
        unknown_jobs=(),
        cancel=_cancel,
        element=lambda job, index: f"{job}.{index}",
        job_of=lambda element: element.rpartition(".")[0],
        hopeless=lambda reason: "error state" in reason,
        grace_s=60.0,
        own_variables=("SGE_TASK", "SGE_JOB", "SGE_O_", "JOB_", "PE_", "TASK_ID"),
        keeps_finished=False,
        hides_environment=False,
        books=lambda job, index: ["qacct", "-j", job, "-t", str(index)],
        read_books=_read_books,
        books_late_s=20.0,
    )


def _cancel(elements: Sequence[str], _at_once: bool) -> list[list[str]]:
    # There is one way: SIGUSR2, since the jobs ask to be notified, and SIGKILL a while later.
    return [["qdel", *elements]]


class GridEngine(BatchLauncher):
    """Workers as array jobs of Grid Engine (SGE, Son of Grid Engine, Univa, Altair).

    Args:
        queue: Where they run; any if it is not given.
        parallel: Parallel environment that gives several slots of one host, for more than one processor.
        memory: Resource that memory is asked for with, per slot.
        gpu: Resource that GPUs are asked for with.
        extra: Further arguments for ``qsub``.
        **options: What all engines have in common: ``account`` (the project), ``time``, ``mem``, ``cpus``, ``gpus``,
            ``notice``, ``grace``, ``max_queue``, ``connect_timeout``, ``memory_growth``, ``memory_limit``,
            ``python``, ``prologue``, ``wrap``.

    >>> from daisy.launchers import GridEngine
    >>> GridEngine(queue="long.q", time="8:00:00", cpus=4, mem="16G", parallel="threads")
    <daisy launcher 'sge'>
    """

    def __init__(
        self,
        *,
        queue: str | None = None,
        parallel: str = "smp",
        memory: str = "h_vmem",
        gpu: str = "gpu",
        extra: Sequence[str] = (),
        **options: Any,
    ) -> None:
        super().__init__(_dialect(parallel, memory, gpu), queue=queue, extra=extra, **options)
