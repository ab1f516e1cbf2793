"""Workers as threads of the driver, for functions that release the GIL, and for what cannot be sent."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping, Sequence

from daisy import _core, _thread_loop
from daisy._context import Context
from daisy.launchers._protocol import Caps, Handle, RunContext, State, Status, WorkerSpec


class ThreadLauncher:
    """Starts workers as threads.

    A thread cannot be killed: ``cancel`` lets it take no more blocks, and leave the one that it is in as soon as it
    runs Python code.
    """

    name = "thread"
    caps = Caps(can_kill=False, grace="none", poll_every=0.02)

    def __init__(self) -> None:
        self._workers: dict[str, _ThreadWorker] = {}

    def open(self, run: RunContext) -> None:
        """Nothing to get ready."""

    def launch(self, n: int, spec: WorkerSpec) -> list[Handle]:
        """Start ``n`` threads."""
        handles = []
        for worker, context in list(zip(spec.workers, spec.contexts, strict=True))[:n]:
            started = _ThreadWorker(spec, Context.from_env_string(context))
            self._workers[str(worker)] = started
            started.thread.start()
            handles.append(Handle(self.name, str(worker), started.thread.name))
        return handles

    def poll(self, handles: Sequence[Handle]) -> Mapping[Handle, Status]:
        """Look at the threads."""
        return {
            handle: self._workers[handle.launch_id].status()
            if handle.launch_id in self._workers
            else Status(State.LOST, "it is not known")
            for handle in handles
        }

    def cancel(self, handles: Sequence[Handle], grace_s: float) -> None:
        """Let the threads take no more blocks, and stop those that run Python code."""
        for handle in handles:
            worker = self._workers.get(handle.launch_id)
            if worker is not None:
                worker.cancel()

    def log_tail(self, handle: Handle, n: int = 50) -> str:
        """How the thread ended, if badly."""
        worker = self._workers.get(handle.launch_id)
        return "" if worker is None else worker.trace

    def forget(self, handle: Handle) -> None:
        """A worker that ended will not be asked for again."""
        self._workers.pop(handle.launch_id, None)

    def close(self, cancel: bool = True) -> None:
        """Let the threads take no more blocks; those in a block finish it by themselves."""
        if cancel:
            for worker in self._workers.values():
                worker.cancel()


class _ThreadWorker:
    def __init__(self, spec: WorkerSpec, context: Context) -> None:
        self._spec = spec
        self._context = context
        self._connection: _core.WorkerConnection | None = None
        self._cancelled = threading.Event()
        self._may_be_stopped = True
        self._lock = threading.Lock()
        self._failure = ""
        self.trace = ""
        # A thread that hangs in a block must not keep the interpreter from ending.
        self.thread = threading.Thread(
            target=self._run, name=f"daisy-worker-{context['worker_id']}", daemon=True
        )

    def _run(self) -> None:
        from daisy import worker  # noqa: PLC0415 - beside this module, not below it

        try:
            try:
                worker.run_function(
                    self._spec.function,
                    self._context,
                    owns_process=False,
                    on_connection=self._connected,
                )
            finally:
                self._end_of_stopping()
        except _thread_loop.Stopped:
            pass
        except BaseException as error:  # noqa: BLE001 - the end of this worker, whatever it is
            import traceback  # noqa: PLC0415 - only for failures

            # The error itself would keep alive whatever its frames hold.
            self._failure = f"{type(error).__name__}: {error}"[:500]
            self.trace = "".join(traceback.format_exception(error))[-8192:]

    def _end_of_stopping(self) -> None:
        """From here on the thread is its own: what stops it would strike anywhere."""
        with self._lock:
            self._may_be_stopped = False
        _thread_loop.unstop()

    def _connected(self, connection: _core.WorkerConnection) -> None:
        self._connection = connection
        if self._cancelled.is_set():
            connection.drain()

    def cancel(self) -> None:
        if not self.thread.is_alive():
            return
        self._cancelled.set()
        with self._lock:
            # Once: another would strike while the first is on its way.
            if self._may_be_stopped:
                self._may_be_stopped = False
                _thread_loop.stop(self.thread)
        if self._connection is not None:
            with contextlib.suppress(RuntimeError):
                self._connection.drain()

    def status(self) -> Status:
        if self._cancelled.is_set():
            # It may stay in foreign code for long; nothing more comes from it.
            return Status(State.CANCELLED, "cancelled")
        if self.thread.is_alive():
            return Status(State.RUNNING)
        if self._failure:
            return Status(State.FAILED, self._failure, 1)
        return Status(State.EXITED, "returned", 0)
