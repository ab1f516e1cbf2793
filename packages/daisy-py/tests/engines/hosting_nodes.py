"""A Dask and a Ray of several nodes, all on this machine, any of which may be lost."""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from daisy.launchers import Dask, Ray

NODES = 2
RESOURCES = {"tool": 1}


class DaskNodes:
    """A scheduler in this process, and nodes of one thread: a nanny and its dask worker, in a process group each."""

    def __init__(self) -> None:
        distributed: Any = importlib.import_module("distributed")
        self._cluster: Any = distributed.LocalCluster(
            n_workers=0, host="127.0.0.1", dashboard_address="127.0.0.1:0"
        )
        self.address: str = self._cluster.scheduler_address
        self._nodes: list[subprocess.Popen[bytes]] = []
        self.client: Any = None

    def fill(self) -> None:
        """Start nodes until there are as many as there should be, and wait for them."""
        for _ in range(len(self._nodes), NODES):
            command = [sys.executable, "-m", "distributed.cli.dask_worker", self.address]
            options = ["--host=127.0.0.1", "--nthreads=1", "--no-dashboard", "--resources=tool=1"]
            self._nodes.append(
                subprocess.Popen(
                    [*command, *options],
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )
            )
        self.client.wait_for_workers(NODES, timeout=60)

    def launcher(self, **options: Any) -> Dask:
        """One that uses them."""
        return Dask(self.client, **options)

    def lose(self, pid: int) -> None:
        """Kill the node that a process is on, with all that runs there."""
        (lost,) = [node for node in self._nodes if node.pid == os.getpgid(pid)]
        self._kill(lost)

    def _kill(self, node: subprocess.Popen[bytes]) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(node.pid, signal.SIGKILL)
        node.wait()
        self._nodes.remove(node)

    def is_idle(self) -> bool:
        """Whether nothing is left on any node."""
        return not any(self.client.processing().values())

    def close(self) -> None:
        """End everything."""
        for node in list(self._nodes):
            self._kill(node)
        self._cluster.close()


class RayNodes:
    """A head without processors, and nodes of one."""

    def __init__(self) -> None:
        cluster_utils: Any = importlib.import_module("ray.cluster_utils")
        head = {"num_cpus": 0, "include_dashboard": False}
        self._cluster: Any = cluster_utils.Cluster(initialize_head=True, head_node_args=head)
        self._ray: Any = importlib.import_module("ray")
        self._ray.init(address=self._cluster.address, log_to_driver=False)

    def fill(self) -> None:
        """Start nodes until there are as many as there should be."""
        for _ in range(len(self._cluster.worker_nodes), NODES):
            self._cluster.add_node(num_cpus=1, resources=RESOURCES)

    def launcher(self, **options: Any) -> Ray:
        """One that uses them."""
        return Ray(**options)

    def lose(self, pid: int) -> None:
        """Kill the raylet that has started a process, with all others of its node."""
        raylet = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        (lost,) = [
            node
            for node in self._cluster.worker_nodes
            if node.all_processes["raylet"][0].process.pid == raylet
        ]
        self._cluster.remove_node(lost, allow_graceful=False)

    def is_idle(self) -> bool:
        """Whether nothing is left on any node."""
        return bool(self._ray.available_resources().get("CPU") == NODES)

    def close(self) -> None:
        """End everything."""
        self._ray.shutdown()
        self._cluster.shutdown()
