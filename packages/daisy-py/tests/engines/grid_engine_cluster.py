"""A throw-away Grid Engine on loopback, from Debian's packages, in a folder of its own: one host of four slots."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
from pathlib import Path

from slurm_cluster import free_ports, is_alive, kill, processes, wait_until

PROGRAMS = ("sge_qmaster", "sge_execd", "qsub", "qstat", "qdel", "qacct", "qconf")
NOTIFY_SECONDS = 4

_SHARE = Path("/usr/share/gridengine")
_INIT = Path("/usr/lib/gridengine")
_BOOTSTRAP = """\
admin_user none
default_domain none
ignore_fqdn true
spooling_method berkeleydb
spooling_lib libspoolb
spooling_params {folder}/spool/db
binary_path /usr/sbin
qmaster_spool_dir {folder}/spool/qmaster
security_mode none
listener_threads 2
worker_threads 2
scheduler_threads 1
"""
_SETTINGS = {
    "execd_spool_dir": "{folder}/spool/execd",
    "min_uid": "0",
    "min_gid": "0",
    "reporting_params": "accounting=true reporting=false flush_time=00:00:01 "
    "accounting_flush_time=00:00:00 joblog=false sharelog=00:00:00",
}
_PARALLEL = {
    "pe_name": "smp",
    "slots": "99",
    "start_proc_args": "NONE",
    "stop_proc_args": "NONE",
    "user_lists": "NONE",
    "xuser_lists": "NONE",
    "allocation_rule": "$pe_slots",
    "control_slaves": "FALSE",
    "job_is_first_task": "TRUE",
    "urgency_slots": "min",
    "accounting_summary": "FALSE",
    "qsort_args": "NONE",
}
_QUEUE = {
    "qname": "all.q",
    "hostlist": "localhost",
    "qtype": "BATCH",
    "pe_list": "smp",
    "rerun": "FALSE",
    "slots": "4",
    "tmpdir": "/tmp",
    "shell": "/bin/sh",
    "shell_start_mode": "posix_compliant",
    "notify": f"00:00:0{NOTIFY_SECONDS}",
    "seq_no": "0",
    "nsuspend": "1",
    "suspend_interval": "00:05:00",
    "min_cpu_interval": "00:05:00",
    "priority": "0",
    "processors": "UNDEFINED",
    "initial_state": "default",
    **dict.fromkeys(
        [
            "load_thresholds",
            "suspend_thresholds",
            "ckpt_list",
            "prolog",
            "epilog",
            "starter_method",
            "suspend_method",
            "resume_method",
            "terminate_method",
            "owner_list",
            "user_lists",
            "xuser_lists",
            "subordinate_list",
            "complex_values",
            "projects",
            "xprojects",
            "calendar",
        ],
        "NONE",
    ),
    **dict.fromkeys(
        (
            f"{kind}_{what}"
            for kind in "sh"
            for what in ["rt", "cpu", "fsize", "data", "stack", "core", "rss", "vmem"]
        ),
        "INFINITY",
    ),
}
_SCHEDULER = {"schedule_interval": "0:0:1", "flush_submit_sec": "1", "flush_finish_sec": "1"}


class GridEngineCluster:
    """Grid Engine with all that it owns in one folder, as root, without systemd.

    Args:
        folder: Everything it owns is in there.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        port = free_ports(2)
        self.env = {
            "SGE_ROOT": str(folder),
            "SGE_CELL": "default",
            "SGE_QMASTER_PORT": str(port),
            "SGE_EXECD_PORT": str(port + 1),
        }

    @staticmethod
    def missing() -> list[str]:
        """Programs that are not on PATH."""
        return [program for program in PROGRAMS if shutil.which(program) is None]

    def start(self) -> None:
        """Configure, start the daemons, wait until a job may run."""
        common = self.folder / "default/common"
        for path in (common, *(self.folder / f"spool/{name}" for name in ("db", "execd"))):
            path.mkdir(parents=True)
        (self.folder / "spool/qmaster/job_scripts").mkdir(parents=True)
        for name in ("bin", "lib", "utilbin", "util"):
            (self.folder / name).symlink_to(f"/var/lib/gridengine/{name}")
        (common / "bootstrap").write_text(_BOOTSTRAP.format(folder=self.folder))
        (common / "act_qmaster").write_text("localhost\n")
        (common / "host_aliases").write_text(f"localhost {socket.gethostname()}\n")
        (common / "cluster_name").write_text("daisy\n")
        configuration = (_SHARE / "default-configuration").read_text()
        for name, value in _SETTINGS.items():
            line = f"{name} {value.format(folder=self.folder)}"
            configuration = re.sub(rf"(?m)^{name}\b.*$", line, configuration)
        database = str(self.folder / "spool/db")
        self.ask(f"{_INIT}/spoolinit", "berkeleydb", "libspoolb", database, "init")
        defaults = f"{_INIT}/spooldefaults"
        self.ask(defaults, "configuration", self._write("configuration", configuration))
        self.ask(defaults, "complexes", str(_SHARE / "util/resources/centry"))
        self.ask(defaults, "usersets", str(_SHARE / "util/resources/usersets"))
        self.ask(defaults, "managers", "root")
        self._start("sge_qmaster")
        wait_until(lambda: "localhost" in self.ask("qconf", "-sh"), 30, "the master answers")
        self.ask("qconf", "-as", "localhost")
        self._start("sge_execd")
        wait_until(lambda: "localhost" in self.ask("qconf", "-sel"), 30, "the host is known")
        self.ask("qconf", "-Ap", self._write("parallel", _table(_PARALLEL)))
        self.ask("qconf", "-Aq", self._write("queue", _table(_QUEUE)))
        scheduler = self.ask("qconf", "-ssconf")
        for name, value in _SCHEDULER.items():
            scheduler = re.sub(rf"(?m)^{name}\b.*$", f"{name} {value}", scheduler)
        self.ask("qconf", "-Msconf", self._write("scheduler", scheduler))
        wait_until(lambda: "all.q@localhost" in self.ask("qstat", "-f"), 30, "the queue is there")

    def stop_master(self) -> None:
        """End sge_qmaster at once, as a crash does."""
        self._end(self.folder / "spool/qmaster/qmaster.pid", signal.SIGKILL)

    def start_master(self) -> None:
        """Start it again, with what it knew, and the daemon of the host, which looks for a new one every 30 s."""
        self._start("sge_qmaster")
        wait_until(lambda: "localhost" in self.ask("qconf", "-sh"), 30, "the master answers")
        self._end_host_daemon(signal.SIGTERM)
        self._start("sge_execd")

    def lose_host(self) -> None:
        """Kill everything on the host, as if its power were cut."""
        self._end_host_daemon(signal.SIGKILL)
        root = f"SGE_ROOT={self.folder}"
        for pid in processes(
            lambda title, env: (
                root in env
                and ("sge_shepherd" in title or any(one.startswith("JOB_SCRIPT=") for one in env))
            )
        ):
            kill(pid)

    def return_host(self) -> None:
        """It is switched on again."""
        self._start("sge_execd")

    def stop(self) -> None:
        """Delete every job, end every daemon, remove the folder."""
        if self.jobs():
            self.ask("qdel", "-f", "-u", "root")
        wait_until(lambda: not self.jobs(), 30, "no job is left", strict=False)
        self._end_host_daemon(signal.SIGTERM)
        self._end(self.folder / "spool/qmaster/qmaster.pid", signal.SIGTERM)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _end_host_daemon(self, number: signal.Signals) -> None:
        for path in self.folder.glob("spool/execd/*/execd.pid"):
            self._end(path, number)

    def _end(self, path: Path, number: signal.Signals) -> None:
        pid = int(path.read_text()) if path.exists() else 0
        if is_alive(pid):
            os.kill(pid, number)
            if not wait_until(lambda: not is_alive(pid), 20, "it ends", strict=False):
                kill(pid)

    def workers(self) -> list[int]:
        """Processes on its host that are workers of daisy, whatever it knows of them."""
        root = f"SGE_ROOT={self.folder}"
        found: list[int] = processes(
            lambda title, env: root in env and any(one.startswith("DAISY_CONTEXT=") for one in env)
        )
        return found

    def jobs(self) -> list[str]:
        """Elements that wait or run."""
        return self.ask("qstat", "-u", "root", "-g", "d").splitlines()[2:]

    def ask(self, *argv: str) -> str:
        """Run a program of Grid Engine; returns what it says."""
        answer = subprocess.run(
            argv, env={**os.environ, **self.env}, capture_output=True, text=True, check=False
        )
        return answer.stdout

    def _write(self, name: str, text: str) -> str:
        (self.folder / name).write_text(text)
        return str(self.folder / name)

    def _start(self, daemon: str) -> None:
        with (self.folder / f"{daemon}.log").open("ab") as log:
            # Not captured: the daemon would hold the pipe open for ever.
            subprocess.run(
                [daemon], env={**os.environ, **self.env}, stdout=log, stderr=log, check=True
            )


def _table(values: dict[str, str]) -> str:
    return "".join(f"{name} {value}\n" for name, value in values.items())
