"""Workers as array jobs of a job engine: one launcher, driven by the table of what differs."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from daisy._context import Context
from daisy._errors import LauncherError, LauncherUnavailable
from daisy._settings import THREAD_VARIABLES
from daisy.launchers._amounts import Memory, Time, megabytes, seconds
from daisy.launchers._dialect import Dialect, Seen, Wish
from daisy.launchers._job_script import JobFiles, script
from daisy.launchers._process import tail_of
from daisy.launchers._protocol import Caps, Handle, RunContext, State, Status, WorkerSpec
from daisy.logging import logger

_SUBMIT_SECONDS = 60.0
_QUERY_SECONDS = 30.0
_GONE_POLLS = 3
_SILENCE_WORD_S = 60.0


@dataclass
class _Element:
    """One worker: an element of an array job."""

    job: str
    index: int
    task_id: str
    worker: int
    log_dir: Path | None
    cancelled: bool = False
    polls_gone: int = 0
    final: Status | None = None


class BatchLauncher:
    """Starts workers as jobs of an engine; what all engines have in common.

    A class of each engine names its own arguments; those below are the same everywhere.

    Args:
        dialect: How the engine is spoken to.
        queue: Queue or partition.
        account: Whom to charge.
        time: Longest life of a worker; it leaves before that, and is replaced while there is work.
        mem: Memory per worker. ``requires={"mem_mb": …}`` of a task comes first.
        cpus: Processors per worker. ``requires={"cpu": …}`` of a task comes first.
        gpus: GPUs per worker. ``requires={"gpu": …}`` of a task comes first.
        extra: Further arguments for the engine.
        notice: How long before the end of ``time`` a worker takes no more blocks.
        grace: How long the engine lets a worker live after the signal that ends it; asked of the engine, or its
            usual value, if it is not given.
        max_queue: Longest time that a worker may wait in the queue.
        connect_timeout: Longest time from the start of a worker to its connection.
        memory_growth: Factor for the memory of later workers of a task after one died of too little.
        memory_limit: Most memory that this may lead to.
        python: Interpreter on the nodes; the driver's if it is not given.
        prologue: Shell lines before the worker, such as ``"module load cuda"``.
        wrap: Command in front of the worker, such as ``["srun", "-n1"]``.
        poll_every: Seconds between questions to the engine; it is not asked about workers that are connected.
    """

    def __init__(
        self,
        dialect: Dialect,
        *,
        queue: str | None = None,
        account: str | None = None,
        time: Time = None,
        mem: Memory = None,
        cpus: int = 0,
        gpus: int = 0,
        extra: Sequence[str] = (),
        notice: Time = 60,
        grace: Time = None,
        max_queue: Time = None,
        connect_timeout: Time = 120,
        memory_growth: float = 1.0,
        memory_limit: Memory = None,
        python: str | None = None,
        prologue: str = "",
        wrap: Sequence[str] = (),
        poll_every: float = 0.5,
    ) -> None:
        self.name = dialect.name
        self._dialect = dialect
        self._walltime_s = seconds("time", time)
        self._wish = Wish(
            name="daisy",
            count=0,
            queue=queue,
            account=account,
            walltime_s=self._walltime_s,
            notice_s=seconds("notice", notice) or 0.0,
            cpus=cpus,
            gpus=gpus,
            mem_mb=megabytes("mem", mem),
            log_dir=None,
            extra=tuple(extra),
        )
        self._grace_s = seconds("grace", grace)
        self._memory_growth = memory_growth
        self._memory_limit = megabytes("memory_limit", memory_limit)
        self._grown_memory: dict[str, int] = {}
        self._python = python
        self._prologue = prologue
        self._wrap = tuple(wrap)
        self.caps = Caps(
            remote=True,
            can_queue=True,
            grace=dialect.grace_s,
            poll_every=poll_every,
            max_batch=500,
            max_queue_s=seconds("max_queue", max_queue),
            connect_timeout_s=seconds("connect_timeout", connect_timeout) or 120.0,
        )
        self._elements: dict[str, _Element] = {}
        self._files: JobFiles | None = None
        self._silent_since: float | None = None
        self._said_at = 0.0

    def open(self, run: RunContext) -> None:
        """Look for the engine's programs, and ask how long it lets a cancelled job live.

        Raises:
            LauncherUnavailable: If a program is not there.
        """
        missing = [name for name in self._dialect.commands if shutil.which(name) is None]
        if missing:
            raise LauncherUnavailable(
                f"launcher {self.name!r}: expected {', '.join(self._dialect.commands)} on PATH, "
                f"got none of {', '.join(missing)}; run the driver where jobs can be submitted, or choose "
                "another launcher"
            )
        self._files = JobFiles(run.run_dir)
        if self._grace_s is None:
            self._grace_s = self._dialect.grace_from() or self._dialect.grace_s

    def launch(self, n: int, spec: WorkerSpec) -> list[Handle]:
        """Submit one array job for ``n`` workers."""
        if self._files is None:
            raise LauncherError(f"launcher {self.name!r}: launch() before open()")
        spec = replace(spec, workers=spec.workers[:n], contexts=spec.contexts[:n])
        wish = self._wish_for(spec)
        spec = replace(spec, env={**_thread_limits(wish.cpus), **spec.env})
        text = script(
            spec,
            batch=self._files.batch(spec, [self._context(context) for context in spec.contexts]),
            payload=self._files.payload(spec),
            index=f"${self._dialect.index_variable}",
            first_index=self._dialect.first_index,
            prologue=self._prologue,
            argv=[*self._wrap, self._python or spec.argv[0], *spec.argv[1:]],
        )
        job = self._submit(wish, text, spec)
        handles = []
        for place, worker in enumerate(spec.workers):
            index = self._dialect.first_index + place
            self._elements[str(worker)] = _Element(job, index, spec.task_id, worker, wish.log_dir)
            handles.append(Handle(self.name, str(worker), self._dialect.element(job, index)))
        return handles

    def _wish_for(self, spec: WorkerSpec) -> Wish:
        mem_mb = max(spec.mem_mb or self._wish.mem_mb, self._grown_memory.get(spec.task_id, 0))
        log_dir = None if spec.log_dir is None else spec.log_dir.absolute()
        if log_dir is not None:
            try:
                log_dir.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                logger.warning("worker logs cannot be written: %s", error)
                log_dir = None
        plain = "".join(c if c.isalnum() or c in "._-" else "_" for c in spec.task_id)
        return replace(
            self._wish,
            name=f"daisy-{plain}"[:60],
            count=len(spec.workers),
            cpus=spec.cpus or self._wish.cpus,
            gpus=spec.gpus or self._wish.gpus,
            mem_mb=mem_mb,
            log_dir=log_dir,
        )

    def _context(self, text: str) -> str:
        """The worker's context with the terms on which the engine lets it run."""
        context = Context.from_env_string(text)
        context["grace"] = str(self._grace_s)
        context["notice"] = str(self._wish.notice_s)
        if self._walltime_s is not None:
            context["walltime"] = str(self._walltime_s)
        return context.to_env()

    def _submit(self, wish: Wish, text: str, spec: WorkerSpec) -> str:
        argv = self._dialect.submit(wish)
        env = {
            name: value
            for name, value in os.environ.items()
            if name in self._dialect.keep_variables
            or not name.startswith(tuple(self._dialect.own_variables))
        }
        # Secrets reach the worker through the environment of this program alone.
        answer = self._call(argv, _SUBMIT_SECONDS, text, {**env, **spec.secret_env})
        if answer is None:
            raise LauncherError(f"{argv[0]} does not answer", retryable=True)
        if answer.returncode != 0:
            said = answer.stderr.strip() or answer.stdout.strip()
            raise LauncherError(f"{argv[0]} refused the job: {said}", retryable=_is_silence(said))
        return self._dialect.job_id(answer.stdout)

    def poll(self, handles: Sequence[Handle]) -> Mapping[Handle, Status]:
        """Ask the engine about all of them at once."""
        known = {handle: self._elements.get(handle.launch_id) for handle in handles}
        open_jobs = {element.job for element in known.values() if element and element.final is None}
        seen = self._query(sorted(open_jobs)) if open_jobs else {}
        statuses: dict[Handle, Status] = {}
        for handle, element in known.items():
            if element is None:
                statuses[handle] = Status(State.LOST, "it is not known")
            elif element.final is not None:
                statuses[handle] = element.final
            elif seen is None:
                statuses[handle] = Status(State.UNKNOWN, f"{self.name} does not answer")
            else:
                statuses[handle] = self._status(element, seen.get((element.job, element.index)))
        return statuses

    def _query(self, jobs: Sequence[str]) -> dict[tuple[str, int], Seen] | None:
        """What the engine says; None if it says nothing, which is never taken for death."""
        argv = self._dialect.query(jobs)
        answer = self._call(argv, _QUERY_SECONDS)
        if answer is not None and answer.returncode != 0:
            said = answer.stderr + answer.stdout
            if any(words in said for words in self._dialect.unknown_jobs):
                self._silent_since = None
                # Of several jobs, some may be known all the same.
                return {
                    (job, index): seen for job, index, seen in self._dialect.read(answer.stdout)
                }
            answer = None
        if answer is None:
            now = time.monotonic()
            self._silent_since = self._silent_since or now
            if now - self._said_at > _SILENCE_WORD_S:
                self._said_at = now
                logger.warning("%s does not answer; no worker is given up for that", argv[0])
            return None
        self._silent_since = None
        return {(job, index): seen for job, index, seen in self._dialect.read(answer.stdout)}

    def _status(self, element: _Element, seen: Seen | None) -> Status:
        if seen is None:
            element.polls_gone += 1
            if element.cancelled:
                return self._end(element, Status(State.CANCELLED, "cancelled"))
            if element.polls_gone < _GONE_POLLS:
                return Status(State.UNKNOWN, "not in the queue")
            if self._dialect.keeps_finished:
                return self._end(element, Status(State.LOST, "it has left the queue"))
            return self._end(element, Status(State.EXITED, "it has left the queue"))
        element.polls_gone = 0
        if not seen.state.is_final:
            is_hopeless = seen.state is State.QUEUED and self._dialect.hopeless(seen.reason)
            return Status(seen.state, seen.reason, node=seen.node, hopeless=is_hopeless)
        reason = f"{seen.word} {seen.reason}".strip()
        if seen.out_of_memory:
            self._grow_memory(element.task_id)
        state = seen.state
        if element.cancelled:
            state = State.CANCELLED
        elif state is not State.EXITED and seen.exit_code == 0 and not seen.out_of_memory:
            # The engine ended the job, and the worker had left in order before.
            state = State.EXITED
        elif state is State.CANCELLED:
            state, reason = State.FAILED, f"{reason}, by someone else".strip()
        return self._end(element, Status(state, reason, seen.exit_code, seen.node))

    @staticmethod
    def _end(element: _Element, status: Status) -> Status:
        element.final = status
        return status

    def _grow_memory(self, task_id: str) -> None:
        before = self._grown_memory.get(task_id, self._wish.mem_mb)
        if self._memory_growth <= 1.0 or before == 0:
            return
        grown = int(before * self._memory_growth)
        if self._memory_limit:
            grown = min(grown, max(self._memory_limit, before))
        if grown > before:
            self._grown_memory[task_id] = grown
            logger.warning(
                "a worker of task %r died of too little memory; the next get %d MiB each",
                task_id,
                grown,
            )

    def cancel(self, handles: Sequence[Handle], grace_s: float) -> None:
        """Cancel the jobs, all with one call; those that ended are no error."""
        names = []
        for handle in handles:
            element = self._elements.get(handle.launch_id)
            # What a driver before this one left is known by its name alone.
            if element is None or element.final is None:
                names.append(handle.native_id)
            if element is not None:
                element.cancelled = True
        if not names:
            return
        for argv in self._dialect.cancel(names, grace_s <= 0):
            answer = self._call(argv, _QUERY_SECONDS)
            if answer is None:
                logger.warning("%s does not answer; %s may live on", argv[0], ", ".join(names))

    def log_tail(self, handle: Handle, n: int = 50) -> str:
        """The last lines that a worker wrote, and what the engine said about it."""
        element = self._elements.get(handle.launch_id)
        if element is None or element.log_dir is None:
            return ""
        said = tail_of(element.log_dir / f"{self.name}-{handle.native_id}.log", n)
        return "\n".join(
            part
            for part in (tail_of(element.log_dir / f"worker_{element.worker}.err", n), said)
            if part
        )

    def forget(self, handle: Handle) -> None:
        """A worker that ended will not be asked for again; an empty file of the engine is of no use."""
        element = self._elements.pop(handle.launch_id, None)
        if element is not None and element.log_dir is not None:
            log = element.log_dir / f"{self.name}-{handle.native_id}.log"
            try:
                if log.stat().st_size == 0:
                    log.unlink()
            except OSError:
                return

    def close(self, cancel: bool = True) -> None:
        """Cancel what is left."""
        if cancel:
            left = [
                Handle(self.name, name, self._dialect.element(element.job, element.index))
                for name, element in self._elements.items()
                if element.final is None
            ]
            self.cancel(left, 0.0)
        self._elements.clear()

    def _call(
        self,
        argv: Sequence[str],
        limit: float,
        text: str = "",
        env: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str] | None:
        """Run a program of the engine; None if it does not end in time."""
        try:
            return subprocess.run(
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
            return None
        except OSError as error:
            raise LauncherError(f"{argv[0]} cannot be run: {error}") from error

    def __repr__(self) -> str:
        return f"<daisy launcher {self.name!r}>"


def _is_silence(said: str) -> bool:
    """Whether an engine could not be reached, as against: it does not want the job."""
    words = (
        "contact",
        "connect",
        "timed out",
        "temporarily",
        "try again",
        "unavailable",
        "communication",
    )
    return any(word in said.lower() for word in words)


def _thread_limits(cpus: int) -> dict[str, str]:
    """Threads of numerical libraries: as many as the worker has processors, unless the user chose."""
    if not cpus or any(name in os.environ for name in THREAD_VARIABLES):
        return {}
    return dict.fromkeys(THREAD_VARIABLES, str(cpus))
