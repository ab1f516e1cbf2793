"""Workers as array jobs of a job engine: one launcher, driven by the table of what differs."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from daisy._context import Context
from daisy._errors import LauncherError, LauncherUnavailable
from daisy._settings import THREAD_VARIABLES
from daisy.launchers._amounts import Memory, Time, megabytes, seconds
from daisy.launchers._cancels import Cancels
from daisy.launchers._dialect import Dialect, Seen, Wish
from daisy.launchers._elements import Element
from daisy.launchers._engine import Engine
from daisy.launchers._job_script import JobFiles, script
from daisy.launchers._memory import Memories, tells_of_hunger
from daisy.launchers._process import tail_of
from daisy.launchers._protocol import Caps, Handle, RunContext, State, Status, WorkerSpec
from daisy.launchers._run_folder import tag_of
from daisy.logging import logger

_SUBMIT_SECONDS = 60.0
_FRESH_SECONDS = 60.0
_MOST_NAME = 60


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
            title="daisy",
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
        self._memories = Memories(memory_growth, megabytes("memory_limit", memory_limit))
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
        self._elements: dict[str, Element] = {}
        self._tag = ""
        self._submitted: list[str] = []
        self._files: JobFiles | None = None
        self._engine = Engine(dialect)
        self._cancels = Cancels(self._engine)

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
        self._submitted.clear()
        self._tag = tag_of(run.run_dir)
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
            secrets=None if self._dialect.hides_environment else self._files.secrets(spec),
            index=f"${self._dialect.index_variable}",
            first_index=self._dialect.first_index,
            prologue=self._prologue,
            argv=[*self._wrap, self._python or spec.argv[0], *spec.argv[1:]],
        )
        job = self._submit(wish, text, spec)
        handles = []
        for place, worker in enumerate(spec.workers):
            index = self._dialect.first_index + place
            self._elements[str(worker)] = Element(
                job, index, spec.task_id, worker, wish.log_dir, wish.mem_mb
            )
            name = self._dialect.element(job, index)
            self._submitted.append(name)
            handles.append(Handle(self.name, str(worker), name))
        return handles

    def _wish_for(self, spec: WorkerSpec) -> Wish:
        mem_mb = self._memories.of(spec.task_id, spec.mem_mb or self._wish.mem_mb)
        log_dir = None if spec.log_dir is None else spec.log_dir.absolute()
        if log_dir is not None:
            try:
                log_dir.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                logger.warning("worker logs cannot be written: %s", error)
                log_dir = None
        plain = "".join(c if c.isalnum() or c in "._-" else "_" for c in spec.task_id)
        title = f"daisy-{plain}"[: _MOST_NAME - len(self._tag) - 1]
        return replace(
            self._wish,
            name=f"daisy-{self._tag}",
            title=f"{title}-{self._tag}",
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
        # Secrets reach the worker through the environment of this program, unless the engine shows that to others.
        secrets = spec.secret_env if self._dialect.hides_environment else {}
        answer = self._engine.call(argv, _SUBMIT_SECONDS, text, {**env, **secrets})
        if answer is None:
            raise LauncherError(f"{argv[0]} does not answer", retryable=True)
        said = answer.stderr.strip() or answer.stdout.strip()
        job = self._dialect.job_id(answer.stdout)
        if answer.returncode != 0:
            taken = self._dialect.job_id(answer.stderr)
            if taken.isdecimal():
                # Grid Engine calls it an error that a job which it took cannot run.
                self._cancels.add([taken], self._tag)
            raise LauncherError(f"{argv[0]} refused the job: {said}")
        if not job:
            raise LauncherError(f"{argv[0]} named no job: {said}")
        return job

    def poll(self, handles: Sequence[Handle]) -> Mapping[Handle, Status]:
        """Ask the engine about all of them at once."""
        self._cancels.tell()
        known = {handle: self._elements.get(handle.launch_id) for handle in handles}
        open_jobs = {element.job for element in known.values() if element and element.final is None}
        seen = self._engine.query(sorted(open_jobs)) if open_jobs else {}
        statuses: dict[Handle, Status] = {}
        for handle, element in known.items():
            if element is None:
                statuses[handle] = Status(State.LOST, "it is not known")
            elif element.final is not None:
                statuses[handle] = element.final
            elif seen is None:
                statuses[handle] = Status(State.UNKNOWN, f"{self.name} does not answer")
            else:
                about = seen.get((element.job, element.index))
                statuses[handle] = element.judge(about, self._dialect, self._engine.end_of)
                if self._was_hungry(element, about):
                    self._memories.grow(element.task_id, element.mem_mb)
        return statuses

    def _was_hungry(self, element: Element, about: Seen | None) -> bool:
        """Whether the worker has ended for lack of memory."""
        if about is not None and about.out_of_memory:
            return element.final is not None
        if element.final is None or element.final.state is not State.FAILED:
            return False
        log_dir = element.log_dir
        return log_dir is not None and tells_of_hunger(tail_of(log_dir / self._log_of(element), 20))

    def cancel(self, handles: Sequence[Handle], grace_s: float) -> None:
        """Cancel the jobs, all with one call; those that ended are no error.

        An engine that is silent is told when it answers again.
        """
        fresh: list[str] = []
        stale: list[str] = []
        now = time.monotonic()
        for handle in handles:
            element = self._elements.get(handle.launch_id)
            if element is None or element.final is not None:
                continue
            element.cancelled = True
            is_fresh = now - element.known_at < _FRESH_SECONDS
            (fresh if is_fresh else stale).append(handle.native_id)
        at_once = grace_s <= 0
        self._cancels.add(fresh, self._tag, at_once=at_once)
        self._cancels.add(stale, self._tag, at_once=at_once, is_late=True)

    def end_left(self, handles: Sequence[Handle], run_dir: Path) -> None:
        """Cancel what is left of the jobs of a driver that was killed; ids that were given away again are not its."""
        names = [handle.native_id for handle in handles]
        self._cancels.add(names, tag_of(run_dir), is_late=True)

    def left(self) -> list[Handle]:
        """Workers that may live on, because the engine did not answer when it was told to end them."""
        return [Handle(self.name, "", name) for name in self._cancels.left]

    def log_tail(self, handle: Handle, n: int = 50) -> str:
        """The last lines that a worker wrote, and what the engine said about it."""
        element = self._elements.get(handle.launch_id)
        if element is None or element.log_dir is None:
            return ""
        said = tail_of(element.log_dir / self._log_of(element), n)
        return "\n".join(
            part
            for part in (tail_of(element.log_dir / f"worker_{element.worker}.err", n), said)
            if part
        )

    def forget(self, handle: Handle) -> None:
        """A worker that ended will not be asked for again; an empty file of the engine is of no use."""
        element = self._elements.pop(handle.launch_id, None)
        if element is not None and element.log_dir is not None:
            log = element.log_dir / self._log_of(element)
            try:
                if log.stat().st_size == 0:
                    log.unlink()
            except OSError:
                return

    def _log_of(self, element: Element) -> str:
        if self._dialect.log is not None:
            return self._dialect.log(element.job, element.index)
        return f"{self.name}-{self._dialect.element(element.job, element.index)}.log"

    def close(self, cancel: bool = True) -> None:
        """Cancel what is left; if the engine is silent, again until it answers or this process ends."""
        left = [
            self._dialect.element(element.job, element.index)
            for element in self._elements.values()
            if element.final is None
        ]
        if self._engine.was_silent:
            # It may have lost what it knew, and start what has ended long ago once more.
            left = [*self._submitted]
            self._engine.was_silent = False
        if cancel and left:
            self._cancels.add(left, self._tag, is_late=True)
        if self._cancels.left:
            self._cancels.go_on()
        self._elements.clear()

    def __repr__(self) -> str:
        return f"<daisy launcher {self.name!r}>"


def _thread_limits(cpus: int) -> dict[str, str]:
    """Threads of numerical libraries: as many as the worker has processors, unless the user chose."""
    if not cpus or any(name in os.environ for name in THREAD_VARIABLES):
        return {}
    return dict.fromkeys(THREAD_VARIABLES, str(cpus))
