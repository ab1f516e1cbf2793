"""Slurm."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Sequence
from typing import Any

from daisy.launchers._batch import BatchLauncher
from daisy.launchers._dialect import Dialect, Seen, Wish, hours, state_of
from daisy.launchers._protocol import State

_STATES = {
    **dict.fromkeys(
        (
            "PENDING",
            "CONFIGURING",
            "REQUEUED",
            "REQUEUE_HOLD",
            "REQUEUE_FED",
            "SUSPENDED",
            "STOPPED",
        ),
        State.QUEUED,
    ),
    **dict.fromkeys(("RUNNING", "COMPLETING", "SIGNALING", "STAGE_OUT", "RESIZING"), State.RUNNING),
    **dict.fromkeys(
        (
            "FAILED",
            "TIMEOUT",
            "OUT_OF_MEMORY",
            "NODE_FAIL",
            "BOOT_FAIL",
            "DEADLINE",
            "PREEMPTED",
            "REVOKED",
            "SPECIAL_EXIT",
            "LAUNCH_FAILED",
        ),
        State.FAILED,
    ),
    "COMPLETED": State.EXITED,
    "CANCELLED": State.CANCELLED,
}
# The engine or someone ended these.
_OUTSIDE = {"BOOT_FAIL", "CANCELLED", "NODE_FAIL", "PREEMPTED", "REVOKED"}
# A job waits for ever for these. Others, such as ReqNodeNotAvail or Licenses, may pass.
_HOPELESS = re.compile(
    r"PartitionConfig|PartitionNodeLimit|PartitionTimeLimit|BadConstraints|DependencyNeverSatisfied"
    r"|Invalid(Account|QOS)|JobHeld(User|Admin)|JobHoldMaxRequeue|.*MaxWallDurationPerJob.*"
    r"|(QOS|Assoc)\w*PerJob(Limit)?|AccountNotAllowed|QOSNotAllowed|QOSTimeLimit|AssocMaxWall.*"
)
_FIELDS = "ArrayJobID:|,ArrayTaskID:|,State:|,exit_code:|,Reason:|,NodeList:|,Name:|"


def _submit(wish: Wish) -> list[str]:
    argv = [
        "sbatch",
        "--parsable",
        f"--job-name={wish.title}",
        f"--array=0-{wish.count - 1}",
        "--no-requeue",
        f"--signal=B:TERM@{max(1, round(wish.notice_s))}",
        f"--output={wish.log_dir}/slurm-%A_%a.log" if wish.log_dir else "--output=/dev/null",
        "--open-mode=append",
    ]
    if wish.queue:
        argv.append(f"--partition={wish.queue}")
    if wish.account:
        argv.append(f"--account={wish.account}")
    if wish.walltime_s:
        argv.append(f"--time={hours(wish.walltime_s)}")
    if wish.cpus:
        argv.append(f"--cpus-per-task={wish.cpus}")
    if wish.gpus:
        argv.append(f"--gres=gpu:{wish.gpus}")
    if wish.mem_mb:
        argv.append(f"--mem={wish.mem_mb}M")
    return [*argv, *wish.extra]


def _query(jobs: Sequence[str]) -> list[str]:
    return [
        "squeue",
        "--noheader",
        "--array",
        "--states=all",
        f"--jobs={','.join(jobs)}",
        f"--Format={_FIELDS}",
    ]


def _read(answer: str) -> Iterable[tuple[str, int, Seen]]:
    for line in answer.splitlines():
        parts = [part.strip() for part in line.split("|", 6)]
        if len(parts) < 7 or not parts[1].isdecimal():
            continue
        job, index, word, code, reason, node, name = parts
        # Steps of a cancelled job that still run are shown by the state that they will have.
        seen = Seen(
            state_of(word, _STATES),
            word,
            "" if reason == "None" else reason,
            _exit_code(code),
            node,
            word == "OUT_OF_MEMORY",
            word in _OUTSIDE,
            name.removesuffix("|"),
        )
        yield job, int(index), seen


def _exit_code(text: str) -> int | None:
    """From what ``wait`` said of the process (``15`` for SIGTERM, ``768`` for 3), or ``3:0``, ``0:15``."""
    code, colon, number = text.partition(":")
    if not code.isdecimal():
        return None
    if colon:
        return -int(number) if number.isdecimal() and int(number) else int(code)
    status = int(code)
    return -(status & 0x7F) if status & 0x7F else status >> 8


def _cancel(elements: Sequence[str], at_once: bool) -> list[list[str]]:
    # A signal alone does not reach what is still waiting, and the end alone is not at once.
    kill = [["scancel", "--full", "--signal=KILL", *elements]] if at_once else []
    return [*kill, ["scancel", *elements]]


def _kill_wait() -> float | None:
    """How long Slurm lets a process live after SIGTERM."""
    try:
        shown = subprocess.run(
            ["scontrol", "show", "config"], capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r"^KillWait\s*=\s*(\d+)", shown.stdout, re.MULTILINE)
    return float(found[1]) if found else None


SLURM = Dialect(
    name="slurm",
    commands=("sbatch", "squeue", "scancel"),
    submit=_submit,
    job_id=lambda answer: answer.strip().split(";")[0],
    first_index=0,
    index_variable="SLURM_ARRAY_TASK_ID",
    query=_query,
    read=_read,
    unknown_jobs=("Invalid job id",),
    cancel=_cancel,
    element=lambda job, index: f"{job}_{index}",
    job_of=lambda element: element.partition("_")[0],
    hopeless=lambda reason: _HOPELESS.fullmatch(reason) is not None,
    grace_s=30.0,
    grace_from=_kill_wait,
    # A driver inside a job must not hand its own limits to the jobs that it submits.
    own_variables=("SLURM_", "SBATCH_"),
    keep_variables=(
        "SLURM_CONF",
        "SLURM_CLUSTERS",
        "SBATCH_ACCOUNT",
        "SBATCH_PARTITION",
        "SBATCH_QOS",
    ),
)


class Slurm(BatchLauncher):
    """Workers as array jobs of Slurm.

    Args:
        partition: Where they run; Slurm's default if it is not given.
        qos: Quality of service.
        constraint: Features that nodes must have.
        extra: Further arguments for ``sbatch``.
        **options: What all engines have in common: ``account``, ``time``, ``mem``, ``cpus``, ``gpus``, ``notice``,
            ``grace``, ``max_queue``, ``connect_timeout``, ``memory_growth``, ``memory_limit``, ``python``,
            ``prologue``, ``wrap``.

    Raises:
        TypeError: ``queue=``, which is ``partition=`` here.

    >>> from daisy.launchers import Slurm
    >>> Slurm(partition="gpu", time="4:00:00", mem="16G", gpus=1)
    <daisy launcher 'slurm'>
    """

    def __init__(
        self,
        *,
        partition: str | None = None,
        qos: str | None = None,
        constraint: str | None = None,
        extra: Sequence[str] = (),
        **options: Any,
    ) -> None:
        if "queue" in options:
            raise TypeError("argument 'queue': Slurm calls it a partition; say partition=")
        named = [
            f"--{name}={value}"
            for name, value in (("qos", qos), ("constraint", constraint))
            if value is not None
        ]
        super().__init__(SLURM, queue=partition, extra=[*named, *extra], **options)
