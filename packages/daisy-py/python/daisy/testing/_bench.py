"""A launcher on the bench: a run without blocks, or with few, and what is left after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import daisy
from daisy import _core
from daisy import logging as daisy_logging
from daisy._context import Context
from daisy._driver import _payload
from daisy._launching import interpreter
from daisy._pipeline import as_pipeline
from daisy._run_arguments import RunArguments
from daisy.launchers import Handle, Launcher, RunContext, State, Status, WorkerSpec
from daisy.launchers._run_folder import RunFolder
from daisy.testing._actors import wait_until


class LauncherBench:
    """One launcher, and a folder to try it in.

    Args:
        make: Makes a new launcher; it is called once for each check, or more often.
        folder: An empty folder. Workers on other machines must see it.
        host: ``host=`` of the runs. The default fits engines whose nodes are this machine.
        patience: Seconds that anything may take.
        workers: How many workers the checks start at once.
    """

    def __init__(
        self,
        make: Callable[[], Launcher],
        folder: Path,
        *,
        host: str | None = "127.0.0.1",
        patience: float = 60.0,
        workers: int = 2,
    ) -> None:
        self.make = make
        self.folder = folder
        self.host = host
        self.patience = patience
        self.workers = workers

    def task(self, function: Any, blocks: int, **options: Any) -> daisy.Task:
        """A task of blocks that may all run at once, with workers of the launcher.

        Args:
            function: Its ``process_function``.
            blocks: How many blocks.
            **options: What else ``daisy.Task`` takes.

        Returns:
            The task.
        """
        return daisy.Task(
            options.pop("task_id", "check"),
            daisy.Roi((0,), (blocks * 10,)),
            daisy.Roi((0,), (10,)),
            daisy.Roi((0,), (10,)),
            process_function=function,
            read_write_conflict=False,
            max_workers=options.pop("max_workers", self.workers),
            launcher=options.pop("launcher", None) or self.make(),
            **options,
        )

    def run(self, task: daisy.Task) -> daisy.RunResult:
        """Run it quietly, with logs in the bench's folder.

        Args:
            task: The task.

        Returns:
            Its result.
        """
        before = daisy_logging.get_log_basedir()
        daisy_logging.set_log_basedir(self.folder / "logs")
        try:
            return daisy.run_blockwise(task, progress=False, summary=False, host=self.host)
        finally:
            daisy_logging.set_log_basedir(before)

    @contextmanager
    def stage(self) -> Iterator[Stage]:
        """A launcher that is open, with a server that workers may look for."""
        stage = Stage(self)
        try:
            yield stage
        finally:
            stage.end()


class Stage:
    """An open launcher whose workers are looked at one by one."""

    def __init__(self, bench: LauncherBench) -> None:
        self._bench = bench
        self.launcher = bench.make()
        self._next_worker = 1
        task = bench.task(lambda block: None, 1, launcher=self.launcher)
        arguments = RunArguments(
            as_pipeline(task), {}, bench.host, (0, 0), False, False, False, worker_processes=True
        )
        options = arguments.options(
            resources={}, all_local=not self.launcher.caps.remote, may_queue=True
        )
        self._run = _core.Run(arguments.plan, options)
        self._folder = RunFolder(shared=self.launcher.caps.remote, log_dir=bench.folder / "logs")
        self._run.write_token(self._folder.path / "token")
        self.launcher.open(
            RunContext(self._run.addresses, self._folder.path, bench.folder / "logs")
        )

    def spec(self, function: Any, n: int, **fields: Any) -> WorkerSpec:
        """What to start: ``n`` workers that run a function with ``context=``."""
        workers = list(range(self._next_worker, self._next_worker + n))
        self._next_worker += n
        task = self._bench.task(function, 1, launcher=self.launcher)
        contexts = [
            Context(
                addresses=",".join(self._run.addresses),
                task_id="check",
                worker_id=str(worker),
                kind=task.function_kind.value,
                logdir=str(self._bench.folder / "logs"),
                token_file=str(self._folder.path / "token"),
                resource_tracking="0",
            ).to_env()
            for worker in workers
        ]
        return WorkerSpec(
            task_id="check",
            workers=workers,
            contexts=contexts,
            argv=interpreter(),
            payload=_payload(task, remote=self.launcher.caps.remote),
            function=function,
            log_dir=self._bench.folder / "logs" / "check",
            **fields,
        )

    def status(self, handle: Handle) -> Status:
        """Where a worker is."""
        return self.launcher.poll([handle]).get(handle, Status(State.UNKNOWN))

    def end_of(self, handles: Sequence[Handle]) -> list[Status]:
        """Wait for the end of workers; how each ended."""
        ends: dict[Handle, Status] = {}

        def all_ended() -> bool:
            ends.update(self.launcher.poll(handles))
            return all(handle in ends and ends[handle].state.is_final for handle in handles)

        assert wait_until(all_ended, self._bench.patience), f"no end, but {ends}"
        return [ends[handle] for handle in handles]

    def wait_for(self, path: Path) -> None:
        """Wait until a worker has made a file."""
        assert wait_until(path.exists, self._bench.patience), f"{path.name} never came"

    def end(self) -> None:
        """Close everything."""
        try:
            self.launcher.close(cancel=True)
        finally:
            self._run.cancel()
            self._run.join()
            self._folder.remove()


def is_alive(lock: Path) -> bool:
    """Whether the worker that took this lock still lives."""
    import fcntl  # noqa: PLC0415 - not on Windows

    with open(lock, "ab") as file:
        try:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
    return False
