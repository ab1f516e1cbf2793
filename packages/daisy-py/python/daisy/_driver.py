"""The driver's side of a run with workers: starts them, answers the server, cleans up."""

from __future__ import annotations

import marshal
import os
import shutil
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from daisy import _core, logging
from daisy._checks import Checks
from daisy._context import Context
from daisy._launching import environment_of, interpreter
from daisy._observe import FormerObservers
from daisy._task import Task
from daisy.launchers import Handle, Launcher, RunContext, WorkerSpec
from daisy.launchers._fleet import Fleet
from daisy.launchers._run_folder import RunFolder
from daisy.worker import returned_path

if TYPE_CHECKING:
    from daisy._run_arguments import RunArguments

_WAIT = timedelta(milliseconds=100)
_CANCEL_SECONDS = 1.5
_LINGER_SECONDS = 10.0


class Driver:
    """A run with workers, from its start to its end.

    Args:
        arguments: What to run.
        launchers: The launcher of each task.
    """

    def __init__(self, arguments: RunArguments, launchers: Sequence[Launcher]) -> None:
        self._tasks = arguments.tasks
        self._observer = arguments.observer
        self._launchers = launchers
        self._payloads = [b"" for _ in self._tasks]
        self.jobs: list[Handle] = []
        self.jobs_left: list[Handle] = []
        with ExitStack() as undo:
            self._open(arguments, undo)
            undo.pop_all()
        self._fleets = {
            launcher: Fleet(self.run, launcher, self._spec, self._note, self._has_returned)
            for launcher in dict.fromkeys(self._launchers)
        }
        self._checks = Checks(self.run, self._tasks)
        self._task_of: dict[int, int] = {}
        self._unfollow = [
            task._follow_max_workers(partial(self.run.set_max_workers, position))
            for position, task in enumerate(self._tasks)
        ]
        try:
            self._call_init_functions()
        except BaseException:
            self.end(cancel=True)
            raise

    def _open(self, arguments: RunArguments, undo: ExitStack) -> None:
        """Everything up to the first worker; ``undo`` takes it back."""
        # Before any worker starts: what cannot be sent is an error here.
        for position, (task, launcher) in enumerate(zip(self._tasks, self._launchers, strict=True)):
            if launcher.name != "thread":
                self._payloads[position] = _payload(task, remote=launcher.caps.remote)
        all_local = not self.is_remote
        may_queue = any(launcher.caps.can_queue for launcher in self._launchers)
        options = arguments.options(
            resources=arguments.resources, all_local=all_local, may_queue=may_queue
        )
        self.run = _core.Run(arguments.plan, options)
        undo.callback(self.run.cancel)
        self._folder = RunFolder(shared=not all_local, log_dir=logging.get_log_basedir())
        undo.callback(self._folder.remove)
        self._token_file = self._folder.path / "token"
        self.run.write_token(self._token_file)
        context = RunContext(self.run.addresses, self._folder.path, logging.get_log_basedir())
        for launcher in dict.fromkeys(self._launchers):
            launcher.open(context)
            undo.callback(launcher.close)
        self._end_left_behind()
        if self.is_remote:
            self._write_contexts()

    @property
    def is_remote(self) -> bool:
        """Whether workers may be left behind when this process ends."""
        return any(launcher.caps.remote for launcher in self._launchers)

    def serve(self, interrupts: Sequence[int] = ()) -> None:
        """Answer the server until the run has ended; Ctrl-C and errors of ``check_function`` come out.

        Args:
            interrupts: Has something in it after Ctrl-C, which code of the user's may have swallowed.
        """
        while True:
            if interrupts:
                raise KeyboardInterrupt
            if self._checks.error is not None:
                raise self._checks.error
            request = self.run.next_request(_WAIT)
            if isinstance(request, _core.Request.Ended):
                return
            if request is not None:
                self._answer(request)

    def _answer(self, request: _core.Request) -> None:
        match request:
            case _core.Request.Launch(task=task, workers=workers):
                self._task_of.update(dict.fromkeys(workers, task))
                self._fleet_of(task).launch(task, workers)
            case _core.Request.Kill(worker=worker, reason=reason):
                if worker in self._task_of:
                    fleet = self._fleet_of(self._task_of[worker])
                    fleet.kill(worker, at_once=reason == "timeout")
            case _core.Request.Check() as check:
                self._checks.ask(check)
            case _core.Request.BlockFailed() as failure:
                self._note_failure(failure)
            case _core.Request.Note(level=level, text=text):
                getattr(logging.logger, level)("%s", text)
            case _:
                pass  # the end of a task is seen in the states

    def _note_failure(self, failure: _core.Request.BlockFailed) -> None:
        logging.logger.info(
            "block %s of task %r failed (attempt %s):\n%s",
            failure.number,
            self._tasks[failure.task].task_id,
            failure.attempt,
            failure.error,
        )
        if isinstance(self._observer, FormerObservers):
            self._observer.note_failure(failure.block, failure.error, failure.worker)

    def end(self, *, cancel: bool) -> tuple[_core.RunOutcome, BaseException | None]:
        """End the run and every worker; returns what it came to, and the error that stopped it."""
        try:
            # Workers that come too late see by it that the run is over.
            self._token_file.unlink(missing_ok=True)
            self._checks.end()
            if cancel:
                self.run.cancel()
            # Workers that daisy drives end by themselves; a worker function may take its time.
            patient = any(task.function_kind.value != "block" for task in self._tasks)
            timeout = _CANCEL_SECONDS if cancel else None if patient else _LINGER_SECONDS
            if not self._finish(cancel=cancel, timeout=timeout):
                if not cancel:
                    logging.logger.warning(
                        "workers that had nothing left to do did not end within %g s and are killed",
                        _LINGER_SECONDS,
                    )
                self._abandon()
            return self.run.join()
        except KeyboardInterrupt:
            # The second Ctrl-C: nothing is waited for.
            self._abandon()
            raise
        finally:
            for unfollow in self._unfollow:
                unfollow()
            self._note_left()
            self._folder.remove(jobs_left=bool(self.jobs_left))

    def _note_left(self) -> None:
        """Say which jobs may live on, because their engine did not answer."""
        names = {handle.native_id for fleet in self._fleets.values() for handle in fleet.left()}
        self.jobs_left = [handle for handle in self.jobs if handle.native_id in names]
        if self.jobs_left:
            logging.logger.warning(
                "the job engine does not answer, and may still have: %s; they are cancelled as soon as it answers, "
                "while this program lives, or by the next run with the same folder of logs",
                ", ".join(handle.native_id for handle in self.jobs_left),
            )

    def _fleet_of(self, task: int) -> Fleet:
        return self._fleets[self._launchers[task]]

    def _finish(self, *, cancel: bool, timeout: float | None) -> bool:
        """Wait until every worker has ended; whether that is so."""
        for fleet in self._fleets.values():
            fleet.begin_finish(cancel=cancel)
        until = None if timeout is None else time.monotonic() + timeout
        ended = True
        for fleet in self._fleets.values():
            ended &= fleet.join(None if until is None else max(0.0, until - time.monotonic()))
        return ended

    def _abandon(self) -> None:
        for fleet in self._fleets.values():
            fleet.abandon()

    def _note(self, task: int, handles: Sequence[Handle]) -> None:
        """Remember the jobs of engines: whoever started them must be able to name them."""
        if self._launchers[task].caps.remote:
            self.jobs.extend(handles)
            self._folder.note(self._tasks[task].task_id, handles)

    def _has_returned(self, worker: int) -> bool:
        """Whether a launch function came to its end; its worker may still be in the queue of an engine."""
        return os.path.exists(returned_path(str(self._token_file), str(worker)))

    def _write_contexts(self) -> None:
        """What workers that are started by hand, and `daisy check-network`, are given."""
        for task in self._tasks:
            path = self._folder.path / f"{task.task_id}.context"
            path.write_text(self._context(task, -1).to_env() + "\n", encoding="utf-8")
            logging.logger.info("for workers started by hand: %s", path)

    def _end_left_behind(self) -> None:
        """End the jobs of drivers that ran here and were killed."""
        for folder, handles in self._folder.left_behind():
            # Of several launchers of one engine any can do it.
            for launcher in {one.name: one for one in self._launchers}.values():
                theirs = [handle for handle in handles if handle.launcher == launcher.name]
                if theirs:
                    logging.logger.warning(
                        "a driver that was killed left %d jobs of %s; they are cancelled",
                        len(theirs),
                        launcher.name,
                    )
                    end_left = getattr(launcher, "end_left", None)
                    if end_left is None:
                        launcher.cancel(theirs, 0.0)
                    else:
                        end_left(theirs, folder)
            if all(any(h.launcher == known.name for known in self._launchers) for h in handles):
                shutil.rmtree(folder, ignore_errors=True)

    def _context(self, task: Task, worker: int) -> Context:
        logdir = logging.get_log_basedir()
        addresses = self.run.addresses
        host, _, port = addresses[0].rpartition(":")
        return Context(
            addresses=",".join(addresses),
            hostname=host.strip("[]"),
            port=port,
            task_id=task.task_id,
            worker_id=str(worker),
            kind=task.function_kind.value,
            logdir="" if logdir is None else str(logdir),
            token_file=str(self._token_file),
            resource_tracking=str(int(task.resource_tracking)),
        )

    def _spec(self, position: int, workers: Sequence[int]) -> WorkerSpec:
        task = self._tasks[position]
        logdir = logging.get_log_basedir()
        return WorkerSpec(
            task_id=task.task_id,
            workers=workers,
            contexts=[self._context(task, worker).to_env() for worker in workers],
            argv=interpreter(),
            payload=self._payloads[position],
            function=task.process_function,
            env=environment_of(task, self._launchers[position]),
            cpus=_amount(task, "cpu", "cpus"),
            gpus=_amount(task, "gpu", "gpus"),
            mem_mb=_amount(task, "mem_mb"),
            resources=task.requires,
            cwd="",
            log_dir=None if logdir is None else logdir / task.task_id,
            log_mode=logging.get_log_mode(),
        )

    def _call_init_functions(self) -> None:
        for task in self._tasks:
            if task.init_callback is not None:
                returned = task.init_callback(self._context(task, -1))
                _core.refuse_unfinished(returned, "init_callback_fn")


def _amount(task: Task, *names: str) -> int:
    """What a worker of the task requires of a resource that engines know, under any of its names."""
    return max((task.requires.get(name, 0) for name in names), default=0)


def _payload(task: Task, *, remote: bool) -> bytes:
    """Everything a worker reads from its input: length, then settings and function."""
    from daisy._functions.dumps import dumps  # noqa: PLC0415 - dill is slow to import

    header: dict[str, Any] = {
        "path": [str(entry) for entry in sys.path],
        # 0: the worker is started by something else, perhaps on another machine.
        "parent": 0 if remote else os.getpid(),
        "python": "{}.{}".format(*sys.version_info),
        "payload": dumps(task.process_function, task_id=task.task_id),
        "logging": _logging_settings(),
    }
    blob = marshal.dumps(header)
    return len(blob).to_bytes(8, "big") + blob


def _logging_settings() -> dict[str, Any] | None:
    import logging as standard  # noqa: PLC0415 - the name is taken by daisy's

    root = standard.getLogger()
    if not root.handlers and not logging.logger.level:
        return None
    return {"root": root.level, "daisy": logging.logger.level, "format": standard.BASIC_FORMAT}
