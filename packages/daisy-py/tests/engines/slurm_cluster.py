"""A throw-away Slurm on loopback: a controller and nodes on this host, as root, without systemd or cgroups.

`python slurm_cluster.py FOLDER` starts one, says how to use it, and stops it at the end of its input.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

PROGRAMS = ("slurmctld", "slurmd", "sbatch", "squeue", "scancel", "munged")
KILL_WAIT = 6

_CONF = """\
ClusterName=daisy
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/run/slurmctld.pid
SlurmdPidFile={folder}/run/slurmd-%n.pid
SlurmctldLogFile={folder}/log/slurmctld.log
SlurmdLogFile={folder}/log/slurmd-%n.log
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
SlurmdParameters=config_overrides
SlurmctldParameters=preempt_send_user_signal
ProctrackType=proctrack/linuxproc
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
DefMemPerCPU=1000
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,bf_interval=1
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
ReturnToService=2
KillWait={kill_wait}
MinJobAge=600
SlurmdTimeout=15
SlurmctldTimeout=15
MessageTimeout=5
GresTypes=gpu
"""


class SlurmCluster:
    """Two nodes of two processors, 8 GiB, one pretended GPU; partition `main`, and `low`: preempted, of a day at most.

    Args:
        folder: Everything it owns is in there; it touches neither /etc/slurm nor /run/munge.
        nodes: How many nodes.
    """

    def __init__(self, folder: Path, nodes: int = 2) -> None:
        self.folder = folder
        self.nodes = nodes
        self.env = {"SLURM_CONF": str(folder / "slurm.conf")}

    @staticmethod
    def missing() -> list[str]:
        """Programs that are not on PATH."""
        return [program for program in PROGRAMS if shutil.which(program) is None]

    def start(self) -> None:
        """Configure, start the daemons, wait until every node is idle."""
        self._configure()
        run = self.folder / "run"
        self._call(
            "munged",
            f"--key-file={self.folder}/munge.key",
            f"--socket={self.folder}/munge.sock",
            f"--pid-file={run}/munged.pid",
            f"--log-file={self.folder}/log/munged.log",
            f"--seed-file={run}/munged.seed",
        )
        self.start_controller(clean=True)
        for node in range(1, self.nodes + 1):
            self.start_node(node)
        wait_until(lambda: self.idle_nodes() == self.nodes, 60, "every node is idle")

    def start_controller(self, *, clean: bool = False, first_job: int = 0) -> None:
        """Start slurmctld; `clean` forgets all jobs, and even counts from `first_job` if that is given."""
        conf = self.folder / "slurm.conf"
        lines = [one for one in conf.read_text().splitlines() if not one.startswith("FirstJobId")]
        if first_job:
            lines.append(f"FirstJobId={first_job}")
            for path in (self.folder / "state").glob("*job*"):
                path.unlink() if path.is_file() else shutil.rmtree(path)
        conf.write_text("\n".join(lines) + "\n")
        self._call("slurmctld", *(["-c"] if clean else []))

    def start_node(self, node: int) -> None:
        """Start slurmd of a node."""
        self._call("slurmd", "-N", f"n{node}")

    def stop_controller(self) -> None:
        """End slurmctld at once, as a crash does, when it has written down what it knows.

        It does so every few seconds. One that comes back with old news shows jobs as running that ended long ago.
        """
        began = time.time()
        wait_until(lambda: self._saved_at() > began, 7, "the state is saved", strict=False)
        self._end("slurmctld", signal.SIGKILL)

    def _saved_at(self) -> float:
        try:
            return (self.folder / "state/job_state").stat().st_mtime
        except FileNotFoundError:
            return 0.0  # it is being replaced

    def stop_node(self, node: int) -> None:
        """End slurmd of a node at once; the jobs on it live on."""
        self._end(f"slurmd-n{node}", signal.SIGKILL)

    def lose_node(self, node: int) -> None:
        """Kill everything on a node, as if its power were cut, and have the controller know of it."""
        jobs = self.ask("squeue", "--noheader", f"--nodelist=n{node}", "--format=%A").split()
        self.stop_node(node)
        steps = tuple(f"slurmstepd: [{job}." for job in jobs)
        name = f"SLURMD_NODENAME=n{node}"
        for pid in processes(lambda title, env: title.startswith(steps)) if steps else []:
            kill(pid)
        for pid in processes(lambda title, env: self._is_here(env) and name in env):
            kill(pid)
        self.ask("scontrol", "update", f"NodeName=n{node}", "State=DOWN", "Reason=lost")

    def return_node(self, node: int) -> None:
        """A node that was lost is back."""
        self.start_node(node)
        self.ask("scontrol", "update", f"NodeName=n{node}", "State=RESUME")

    def stop(self) -> None:
        """Cancel every job, end every daemon, remove the folder."""
        if is_alive(self._pid("slurmctld")):
            # Before the daemons: a step outlives its slurmd.
            self.ask("scancel", "--quiet", "--full", "--signal=KILL", "--user=root")
            self.ask("scancel", "--quiet", "--user=root")
            wait_until(lambda: not self.jobs(), 30, "the queue is empty", strict=False)
        daemons = [f"slurmd-n{node}" for node in range(1, self.nodes + 1)]
        for daemon in (*daemons, "slurmctld", "munged"):
            self._end(daemon, signal.SIGTERM)
        shutil.rmtree(self.folder, ignore_errors=True)

    def ask(self, *argv: str) -> str:
        """Run a program of Slurm; returns what it says."""
        answer = subprocess.run(
            argv, env={**os.environ, **self.env}, capture_output=True, text=True, check=False
        )
        return answer.stdout.strip()

    def jobs(self) -> list[str]:
        """Elements that wait or run."""
        return self.ask("squeue", "--noheader", "--array", "--format=%i %T %r").splitlines()

    def end_of(self, job: str) -> tuple[str, int]:
        """How an element ended: Slurm's word, and the exit code."""
        word, code, _ = self._end_of(job)
        return word, int(code)

    def seconds_of(self, job: str) -> int:
        """How long an element ran."""
        shown = self._end_of(job)[2].split(":")
        return sum(int(part) * 60**power for power, part in enumerate(reversed(shown)))

    def _end_of(self, job: str) -> list[str]:
        fields = "--Format=State:|,exit_code:|,TimeUsed:|"
        said = self.ask("squeue", "--noheader", "--states=all", f"--jobs={job}", fields)
        return [part.strip() for part in said.split("|")[:3]]

    def settle(self) -> None:
        """Wait until no job and no worker is left, and every node is idle.

        A controller that lost sight of a node shows jobs on it as completing for a minute; that is cut short.
        """
        wait_until(lambda: not self.workers(), 30, "no worker lives")
        if not wait_until(lambda: not self.waiting_or_running(), 60, "none is left", strict=False):
            raise AssertionError(f"jobs are left: {self.jobs()}, {self._last_words()}")
        if not wait_until(
            lambda: self.idle_nodes() == self.nodes, 10, "all are idle", strict=False
        ):
            names = f"NodeName=n[1-{self.nodes}]"
            self.ask("scontrol", "update", names, "State=DOWN", "Reason=settle")
            self.ask("scontrol", "update", names, "State=RESUME")
        wait_until(lambda: self.idle_nodes() == self.nodes, 60, "every node is idle")
        wait_until(lambda: not self.jobs(), 60, "no job is shown any more")

    def waiting_or_running(self) -> list[str]:
        """Elements of jobs that are not over, as far as this Slurm knows."""
        return [job for job in self.jobs() if "COMPLETING" not in job]

    def workers(self) -> list[int]:
        """Processes on its nodes that are workers of daisy, whatever Slurm knows of them."""
        return processes(
            lambda title, env: (
                self._is_here(env) and any(one.startswith("DAISY_CONTEXT=") for one in env)
            )
        )

    def _is_here(self, env: Sequence[str]) -> bool:
        return f"SLURM_CONF={self.env['SLURM_CONF']}" in env

    def idle_nodes(self) -> int:
        """Nodes that could run something."""
        return len(
            self.ask("sinfo", "-h", "-N", "-p", "main", "-t", "idle", "-o", "%N").splitlines()
        )

    def _last_words(self) -> str:
        """The end of the controller's log."""
        return "\n".join((self.folder / "log/slurmctld.log").read_text().splitlines()[-40:])

    def _configure(self) -> None:
        host = socket.gethostname().split(".")[0]
        port = free_ports(self.nodes + 1)
        for name in ("log", "state", "run", "spool"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        key = self.folder / "munge.key"
        key.write_bytes(secrets.token_bytes(1024))
        key.chmod(0o600)
        names = f"n[1-{self.nodes}]"
        lines = [
            _CONF.format(host=host, port=port, folder=self.folder, kill_wait=KILL_WAIT),
            f"PartitionName=main Nodes={names} Default=YES MaxTime=INFINITE State=UP PriorityTier=10",
            f"PartitionName=low Nodes={names} MaxTime=1-0 State=UP PriorityTier=1 GraceTime=5",
        ]
        for node in range(1, self.nodes + 1):
            (self.folder / f"spool/n{node}").mkdir()
            lines.insert(
                node,
                f"NodeName=n{node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port + node} CPUs=2 "
                "RealMemory=8192 Gres=gpu:1 State=UNKNOWN",
            )
        # A GPU must be a device: a copy of /dev/null is one.
        os.mknod(self.folder / "gpu0", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        (self.folder / "gres.conf").write_text(
            f"NodeName={names} Name=gpu File={self.folder}/gpu0\n"
        )
        if int(self.ask("slurmd", "-V").split()[-1].split(".")[0]) >= 23:
            # Those want a cgroup by default even if nothing uses it.
            (self.folder / "cgroup.conf").write_text("CgroupPlugin=disabled\n")
        (self.folder / "slurm.conf").write_text("\n".join(lines) + "\n")

    def _call(self, *argv: str) -> None:
        environment = {**os.environ, **self.env}
        with (self.folder / "log/start.log").open("ab") as log:
            # Not captured: the daemons would hold the pipe open for ever.
            subprocess.run(argv, env=environment, stdout=log, stderr=log, check=True)

    def _pid(self, daemon: str) -> int:
        try:
            return int((self.folder / f"run/{daemon}.pid").read_text())
        except (OSError, ValueError):
            return 0

    def _end(self, daemon: str, number: signal.Signals) -> None:
        pid = self._pid(daemon)
        if not is_alive(pid):
            return
        os.kill(pid, number)
        if not wait_until(lambda: not is_alive(pid), 20, f"{daemon} has ended", strict=False):
            os.kill(pid, signal.SIGKILL)
        (self.folder / f"run/{daemon}.pid").unlink(missing_ok=True)


def processes(is_one: Callable[[str, Sequence[str]], bool]) -> list[int]:
    """Processes of this machine, by their arguments and environments."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            title = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            env = (path / "environ").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if is_one(title, env) and is_alive(int(path.name)):
            found.append(int(path.name))
    return found


def kill(pid: int) -> None:
    """End a process at once, if it is still there."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def is_alive(pid: int) -> bool:
    """Whether a process is there, and no zombie that nobody reaps."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return pid > 0 and text.rpartition(")")[2].split()[0] != "Z"


def wait_until(
    found: Callable[[], bool], seconds: float, what: str, *, strict: bool = True
) -> bool:
    """Look again and again whether something is so."""
    pause = threading.Event()
    for _ in range(max(1, int(seconds * 20))):
        if found():
            return True
        pause.wait(0.05)
    if strict:
        raise AssertionError(f"it did not come to this within {seconds:g} s: {what}")
    return False


def free_ports(count: int) -> int:
    """The first of so many ports in a row that nobody uses."""
    # Far apart for processes that started one after the other.
    for first in range(20000 + os.getpid() * 97 % 10000, 60000, count):
        try:
            for port in range(first, first + count):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", port))
        except OSError:
            continue
        return first
    raise OSError("no ports are free")


if __name__ == "__main__":
    cluster = SlurmCluster(Path(sys.argv[1]).absolute())
    cluster.start()
    print(f"export SLURM_CONF={cluster.env['SLURM_CONF']}", flush=True)
    try:
        sys.stdin.read()
    finally:
        cluster.stop()
