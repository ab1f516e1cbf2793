"""PBS: OpenPBS and PBS Professional."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from daisy.launchers._batch import BatchLauncher
from daisy.launchers._dialect import Dialect, Seen, Wish, hours
from daisy.launchers._protocol import State

_STATES = {
    **dict.fromkeys("QHWTSUM", State.QUEUED),
    **dict.fromkeys("REB", State.RUNNING),
    **dict.fromkeys("FX", State.EXITED),
}
_HOPELESS = re.compile(r"(?i).*(can never run|never be satisf|job held|exceeds .*limit).*")


def _submit(wish: Wish) -> list[str]:
    chunk = f"select=1:ncpus={max(1, wish.cpus)}"
    if wish.gpus:
        chunk += f":ngpus={wish.gpus}"
    if wish.mem_mb:
        chunk += f":mem={wish.mem_mb}mb"
    log = f"{wish.log_dir}/" if wish.log_dir else "/dev/null"
    argv = ["qsub", "-N", wish.name, "-S", "/bin/sh", "-j", "oe", "-o", log, "-l", chunk]
    # An array has at least two elements, and PBS insists that it may run one again: such a worker is refused by
    # its run, and ends.
    argv += ["-J", f"1-{wish.count}"] if wish.count > 1 else ["-r", "n"]
    if wish.queue:
        argv += ["-q", wish.queue]
    if wish.account:
        argv += ["-A", wish.account]
    if wish.walltime_s:
        argv += ["-l", f"walltime={hours(wish.walltime_s)}"]
    return [*argv, *wish.extra]


def _query(jobs: Sequence[str]) -> list[str]:
    return ["qstat", "-x", "-t", "-f", "-F", "json", *jobs]


def _read(answer: str) -> Iterable[tuple[str, int, Seen]]:
    try:
        jobs = json.loads(answer).get("Jobs", {})
    except ValueError:
        return
    for name, job in jobs.items():
        found = re.fullmatch(r"(\d+)(?:\[(\d*)\])?(.*)", name)
        if found is None or found[2] == "":
            continue  # the array itself
        key = name if found[2] is None else f"{found[1]}[]{found[3]}"
        yield key, int(found[2] or 1), replace(_seen(job), name=str(job.get("Job_Name", "")))


def _seen(job: dict[str, Any]) -> Seen:
    word = str(job.get("job_state", ""))
    state = _STATES.get(word, State.UNKNOWN)
    reason = str(job.get("comment", ""))
    node = str(job.get("exec_host", "")).partition("/")[0]
    if state is not State.EXITED:
        return Seen(state, word, reason, node=node)
    code = job.get("Exit_status")
    if not isinstance(code, int):
        # Deleted before it ran.
        return Seen(State.CANCELLED, word, reason, node=node, outside=True)
    number = 256 - code if 256 < code < 256 + 65 else code
    is_hungry = bool(re.search(r"(?i)mem\w* .*exceeded|out of memory", reason)) or code == -27
    return Seen(State.FAILED if code else State.EXITED, word, reason, number, node, is_hungry)


def _cancel(elements: Sequence[str], at_once: bool) -> list[list[str]]:
    # Politely: SIGTERM, and SIGKILL after the server's kill_delay.
    kill = [["qsig", "-s", "SIGKILL", *elements]] if at_once else []
    return [*kill, ["qdel", *elements]]


PBS = Dialect(
    name="pbs",
    commands=("qsub", "qstat", "qdel"),
    submit=_submit,
    job_id=lambda answer: answer.strip(),
    first_index=1,
    index_variable="{PBS_ARRAY_INDEX:-1}",
    query=_query,
    read=_read,
    unknown_jobs=("Unknown Job Id", "Job has finished"),
    cancel=_cancel,
    element=lambda job, index: job.replace("[]", f"[{index}]"),
    job_of=lambda element: re.sub(r"\[\d+\]", "[]", element),
    hopeless=lambda reason: _HOPELESS.fullmatch(reason) is not None,
    grace_s=10.0,
    own_variables=("PBS_JOB", "PBS_ARRAY", "PBS_O_", "PBS_NODE", "PBS_TASK"),
    keeps_finished=False,
    hides_environment=False,
)


class Pbs(BatchLauncher):
    """Workers as array jobs of PBS (OpenPBS, PBS Professional; Torque speaks otherwise).

    Args:
        queue: Where they run; the server's default if it is not given.
        extra: Further arguments for ``qsub``.
        **options: What all engines have in common: ``account``, ``time``, ``mem``, ``cpus``, ``gpus``, ``notice``,
            ``grace``, ``max_queue``, ``connect_timeout``, ``memory_growth``, ``memory_limit``, ``python``,
            ``prologue``, ``wrap``.

    >>> from daisy.launchers import Pbs
    >>> Pbs(queue="workq", time="2:00:00", cpus=8, mem="32G")
    <daisy launcher 'pbs'>
    """

    def __init__(
        self, *, queue: str | None = None, extra: Sequence[str] = (), **options: Any
    ) -> None:
        super().__init__(PBS, queue=queue, extra=extra, **options)
