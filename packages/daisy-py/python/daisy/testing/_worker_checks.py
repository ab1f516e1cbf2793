"""What a launcher must do with single workers."""

from __future__ import annotations

import secrets
from collections.abc import Callable

from daisy.launchers import State
from daisy.testing._actors import Actor, wait_until
from daisy.testing._bench import LauncherBench, Stage, is_alive


def check_has_what_the_protocol_asks(bench: LauncherBench) -> None:
    """Name, abilities and methods are there."""
    launcher = bench.make()
    assert launcher.name
    assert launcher.caps.poll_every > 0
    assert launcher.caps.max_batch >= 1
    for method in ("open", "launch", "poll", "cancel", "close"):
        assert callable(getattr(launcher, method)), method


def check_workers_start_and_end(bench: LauncherBench) -> None:
    """Each worker starts once under its own id, and its end is seen, and seen again."""
    with bench.stage() as stage:
        spec = stage.spec(Actor(bench.folder, "return"), bench.workers)
        handles = stage.launcher.launch(bench.workers, spec)
        assert 1 <= len(handles) <= bench.workers
        ids = [int(handle.launch_id) for handle in handles]
        assert len(set(ids)) == len(ids)
        assert set(ids) <= set(spec.workers)
        assert all(handle.launcher == stage.launcher.name for handle in handles)
        assert all(handle.native_id for handle in handles)
        ends = stage.end_of(handles)
        assert [end.state for end in ends] == [State.EXITED] * len(handles), ends
        assert stage.end_of(handles) == ends, "final states must not change"
        for worker in ids:
            assert (bench.folder / f"started-{worker}").exists()


def check_failure_has_a_cause(bench: LauncherBench) -> None:
    """A worker that raises has failed, with a reason and the last that it said."""
    with bench.stage() as stage:
        handles = stage.launcher.launch(1, stage.spec(Actor(bench.folder, "raise"), 1))
        (end,) = stage.end_of(handles)
        assert end.state is State.FAILED, end
        assert end.reason
        log_tail = getattr(stage.launcher, "log_tail", None)
        if log_tail is not None:
            assert "as it should" in log_tail(handles[0], 50)


def check_cancel_ends_what_runs(bench: LauncherBench) -> None:
    """A worker that runs ends when it is cancelled, others do not; twice is no error."""
    with bench.stage() as stage:
        handles = stage.launcher.launch(
            bench.workers, stage.spec(Actor(bench.folder, "hold"), bench.workers)
        )
        for handle in handles:
            stage.wait_for(bench.folder / f"started-{handle.launch_id}")
        first, *others = handles
        stage.launcher.cancel([first], 0.5)
        (end,) = stage.end_of([first])
        assert end.state is State.CANCELLED, end
        stage.launcher.cancel([first], 0.5)
        for other in others:
            assert not stage.status(other).state.is_final
        stage.launcher.cancel(others, 0.0)
        assert all(end.state is State.CANCELLED for end in stage.end_of(others))
        _assert_dead(bench, stage, first.launch_id)


def check_cancel_at_once(bench: LauncherBench) -> None:
    """A worker may be cancelled before anything is known of it."""
    with bench.stage() as stage:
        handles = stage.launcher.launch(1, stage.spec(Actor(bench.folder, "hold"), 1))
        stage.launcher.cancel(handles, 0.0)
        (end,) = stage.end_of(handles)
        assert end.state is State.CANCELLED, end
        (bench.folder / "release").touch()


def check_close_leaves_nothing(bench: LauncherBench) -> None:
    """After ``close`` no worker lives."""
    with bench.stage() as stage:
        handles = stage.launcher.launch(
            bench.workers, stage.spec(Actor(bench.folder, "hold"), bench.workers)
        )
        for handle in handles:
            stage.wait_for(bench.folder / f"started-{handle.launch_id}")
        stage.launcher.close(cancel=True)
        for handle in handles:
            _assert_dead(bench, stage, handle.launch_id)
        (bench.folder / "release").touch()


def check_secrets_stay_secret(bench: LauncherBench) -> None:
    """What is secret is in no log, and in no file that others can read."""
    secret = secrets.token_hex(16)
    with bench.stage() as stage:
        spec = stage.spec(Actor(bench.folder, "return"), 1, secret_env={"DAISY_CHECK": secret})
        handles = stage.launcher.launch(1, spec)
        for path in bench.folder.rglob("*"):
            is_private = (
                path.suffix not in (".out", ".err", ".log") and not path.stat().st_mode & 0o077
            )
            if path.is_file() and not is_private:
                assert secret not in path.read_bytes().decode(errors="replace"), path
        stage.end_of(handles)
        assert secret not in repr(stage.launcher)
        assert not any(secret in repr(handle) for handle in handles)


def check_foreign_handles_are_no_error(bench: LauncherBench) -> None:
    """A launcher that is asked about workers it does not know says so, and does not fail."""
    with bench.stage() as stage:
        handles = stage.launcher.launch(1, stage.spec(Actor(bench.folder, "return"), 1))
        foreign = type(handles[0])(stage.launcher.name, "999999", handles[0].native_id + "-foreign")
        state = stage.status(foreign).state
        assert state in (State.LOST, State.UNKNOWN), state
        stage.end_of(handles)


def _assert_dead(bench: LauncherBench, stage: Stage, worker: str) -> None:
    if not stage.launcher.caps.can_kill:
        (bench.folder / "release").touch()  # it could only be asked, and may go on
    lock = bench.folder / f"alive-{worker}"
    assert wait_until(lambda: not is_alive(lock), bench.patience), f"worker {worker} lives"
    if not stage.launcher.caps.can_kill:
        (bench.folder / "release").unlink()


WORKER_CHECKS: tuple[Callable[[LauncherBench], None], ...] = (
    check_has_what_the_protocol_asks,
    check_workers_start_and_end,
    check_failure_has_a_cause,
    check_cancel_ends_what_runs,
    check_cancel_at_once,
    check_close_leaves_nothing,
    check_secrets_stay_secret,
    check_foreign_handles_are_no_error,
)
