"""LSF."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from daisy.launchers._batch import BatchLauncher
from daisy.launchers._dialect import Dialect, Seen, Wish
from daisy.launchers._protocol import State

_STATES = {
    **dict.fromkeys(("PEND", "PSUSP", "USUSP", "SSUSP", "WAIT", "PROV"), State.QUEUED),
    **dict.fromkeys(("RUN", "ZOMBI"), State.RUNNING),
    "DONE": State.EXITED,
    "EXIT": State.FAILED,
}
_FIELDS = "jobid jobindex stat exit_code exit_reason exec_host job_name pend_reason"
# The engine or someone ended these.
_OUTSIDE = re.compile(
    r"TERM_(OWNER|ADMIN|PREEMPT|FORCE_OWNER|FORCE_ADMIN|REQUEUE\w*|LOAD|BUCKET_KILL)"
)
_HOPELESS = re.compile(
    r"(?i).*(dependency condition invalid|never satisf|no host satisf|not a member|exceeds? .*limit).*"
)


def _submit(wish: Wish) -> list[str]:
    log = f"{wish.log_dir}/lsf-%J_%I.log" if wish.log_dir else "/dev/null"
    argv = ["bsub", "-J", f"{wish.title}[1-{wish.count}]", "-rn", "-o", log]
    if wish.queue:
        argv += ["-q", wish.queue]
    if wish.account:
        argv += ["-P", wish.account]
    if wish.walltime_s:
        minutes = -(-int(wish.walltime_s) // 60)
        notice = min(minutes, max(1, -(-int(wish.notice_s) // 60)))
        argv += ["-W", f"{minutes // 60}:{minutes % 60:02}", "-wa", "TERM", "-wt", str(notice)]
    if wish.cpus:
        argv += ["-n", str(wish.cpus), "-R", "span[hosts=1]"]
    if wish.gpus:
        argv += ["-gpu", f"num={wish.gpus}"]
    if wish.mem_mb:
        argv += ["-M", f"{wish.mem_mb}MB", "-R", f"rusage[mem={wish.mem_mb}MB]"]
    return [*argv, *wish.extra]


def _query(jobs: Sequence[str]) -> list[str]:
    return ["bjobs", "-a", "-noheader", "-o", f"{_FIELDS} delimiter='|'", *jobs]


def _read(answer: str) -> Iterable[tuple[str, int, Seen]]:
    for line in answer.splitlines():
        parts = [part.strip() for part in line.split("|", 7)]
        if len(parts) < 8 or not parts[1].isdecimal():
            continue
        job, index, word, code, reason, node, name, pending = (
            "" if part == "-" else part for part in parts
        )
        number = int(code) if code.isdecimal() else None
        if number is not None and 128 < number < 128 + 65:
            number = 128 - number
        state = _STATES.get(word, State.UNKNOWN)
        yield (
            job,
            int(index),
            Seen(
                state,
                word,
                pending if state is State.QUEUED else reason,
                0 if state is State.EXITED else number,
                node,
                "TERM_MEMLIMIT" in reason or "TERM_SWAP" in reason,
                _OUTSIDE.search(reason) is not None,
                name,
            ),
        )


def _cancel(elements: Sequence[str], at_once: bool) -> list[list[str]]:
    # Politely: SIGINT, SIGTERM ten seconds later, SIGKILL after ten more.
    kill = [["bkill", "-s", "KILL", *elements]] if at_once else []
    return [*kill, ["bkill", *elements]]


LSF = Dialect(
    name="lsf",
    commands=("bsub", "bjobs", "bkill"),
    submit=_submit,
    job_id=lambda answer: found[1] if (found := re.search(r"Job <(\d+)>", answer)) else "",
    first_index=1,
    index_variable="LSB_JOBINDEX",
    query=_query,
    read=_read,
    unknown_jobs=("is not found", "No matching job found"),
    cancel=_cancel,
    element=lambda job, index: f"{job}[{index}]",
    job_of=lambda element: element.partition("[")[0],
    log=lambda job, index: f"lsf-{job}_{index}.log",
    hopeless=lambda reason: _HOPELESS.fullmatch(reason) is not None,
    grace_s=20.0,
    own_variables=("LSB_", "LSFUSER", "LS_"),
    keep_variables=("LSB_DEFAULTQUEUE", "LSB_DEFAULTPROJECT"),
)


class Lsf(BatchLauncher):
    """Workers as array jobs of LSF.

    Args:
        queue: Where they run; LSF's default if it is not given.
        extra: Further arguments for ``bsub``.
        **options: What all engines have in common: ``account`` (the project), ``time``, ``mem``, ``cpus``, ``gpus``,
            ``notice``, ``grace``, ``max_queue``, ``connect_timeout``, ``memory_growth``, ``memory_limit``,
            ``python``, ``prologue``, ``wrap``.

    >>> from daisy.launchers import Lsf
    >>> Lsf(queue="gpu_short", time="4:00", cpus=12, gpus=1)
    <daisy launcher 'lsf'>
    """

    def __init__(
        self, *, queue: str | None = None, extra: Sequence[str] = (), **options: Any
    ) -> None:
        super().__init__(LSF, queue=queue, extra=extra, **options)
