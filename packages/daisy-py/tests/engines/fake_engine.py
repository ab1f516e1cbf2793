"""LSF and PBS as far as a launcher sees them: their commands, which really run processes here, in four slots.

Neither can be had for tests. What is imitated is written down in their manuals: the words of the answers, arrays,
exit codes, and which signals a job gets when it is deleted. `make(folder)` puts the commands into a folder. While a
file `silent` is among the jobs, they can be submitted, and nothing else is answered.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

SLOTS = 4
KILL_DELAY = 3.0
COMMANDS = ("bsub", "bjobs", "bkill", "qsub", "qstat", "qdel", "qsig")


def make(folder: Path) -> Path:
    """Put the commands into a folder, to be put in front of PATH; returns it."""
    state = folder / "state"
    state.mkdir(parents=True)
    commands = folder / "bin"
    commands.mkdir()
    for name in COMMANDS:
        path = commands / name
        path.write_text(f'#!/bin/sh\nexec {sys.executable} -P {__file__} {name} {state} "$@"\n')
        path.chmod(0o755)
    return commands


class Element:
    """One element of a job: a folder with what is known of it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.job, _, index = path.name.partition("_")
        self.index = int(index)

    def read(self) -> dict[str, Any]:
        """What is known."""
        facts: dict[str, Any] = json.loads((self.path / "facts").read_text())
        return facts

    def note(self, **facts: Any) -> None:
        """Know more."""
        new = self.path / f"facts.{os.getpid()}"
        new.write_text(
            json.dumps({**self.read(), **facts} if (self.path / "facts").exists() else facts)
        )
        new.replace(self.path / "facts")


def submit(state: Path, name: str, count: int, log: str, env: dict[str, str], **more: Any) -> int:
    """Take the script on standard input as a job."""
    job = 1 + max((int(path.name.partition("_")[0]) for path in state.glob("*_*")), default=0)
    script = sys.stdin.read()
    for index in range(1, count + 1):
        element = Element(state / f"{job}_{index}")
        element.path.mkdir()
        (element.path / "script").write_text(script)
        variables = {name: value.replace("%I", str(index)) for name, value in env.items()}
        element.note(state="waiting", name=name, env=variables, log=log, **more)
        subprocess.Popen(
            [sys.executable, "-P", __file__, "supervise", str(element.path)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    return job


def supervise(element: Element) -> None:
    """Wait for a slot, run the script, write down how it ended."""
    import fcntl

    slots = [open(element.path.parent / f"slot-{number}", "wb") for number in range(SLOTS)]
    while True:
        if (element.path / "deleted").exists():
            return element.note(state="over", code=None)
        for slot in slots:
            try:
                fcntl.flock(slot, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                continue
            return _run(element)
        time.sleep(0.05)  # noqa: TID251 - it stands for the engine's own clock


def _run(element: Element) -> None:
    facts = element.read()
    log = facts["log"].replace("%J", element.job).replace("%I", str(element.index))
    with open(log, "ab") as out, open(element.path / "script", "rb") as script:
        process = subprocess.Popen(
            ["/bin/sh"],
            stdin=script,
            stdout=out,
            stderr=out,
            env={**os.environ, **facts["env"], "FAKE_ELEMENT": str(element.path)},
            start_new_session=True,
        )
        element.note(state="running", pid=process.pid)
        told: list[float] = []
        while process.poll() is None:
            if (element.path / "deleted").exists() and not told:
                told.append(time.monotonic())
                os.killpg(process.pid, signal.SIGTERM)
            if _eats_too_much(element, facts["mem_mb"]):
                element.note(
                    reason="TERM_MEMLIMIT: job killed after reaching LSF memory usage limit"
                )
                os.killpg(process.pid, signal.SIGKILL)
            if told and time.monotonic() - told[0] > KILL_DELAY:
                os.killpg(process.pid, signal.SIGKILL)
            time.sleep(0.02)  # noqa: TID251
    element.note(state="over", code=process.returncode)


def _eats_too_much(element: Element, mem_mb: int) -> bool:
    """Whether the job says, in the file `eats` of its element, that it takes more than it has."""
    try:
        return int((element.path / "eats").read_text()) > mem_mb > 0
    except (OSError, ValueError):
        return False


def named(state: Path, names: list[str]) -> list[Element]:
    """Elements by job (`7`, `7[].host`) or by themselves (`7[2]`, `7[2].host`)."""
    found = []
    for name in names:
        match = re.fullmatch(r"(\d+)(?:\[(\d*)\])?(?:\.fake)?", name)
        if match:
            pattern = f"{match[1]}_{match[2] or '*'}"
            found += [Element(path) for path in sorted(state.glob(pattern))]
    return found


def jobs(state: Path) -> list[str]:
    """Elements that wait or run."""
    elements = [Element(path) for path in state.glob("*_*")]
    return [element.path.name for element in elements if element.read()["state"] != "over"]


def send(elements: list[Element], number: signal.Signals) -> None:
    """Send a signal to those that run."""
    for element in elements:
        facts = element.read()
        if facts["state"] == "running":
            os.killpg(facts["pid"], number)


def option(arguments: list[str], name: str, default: str = "") -> str:
    """What follows an option."""
    return arguments[arguments.index(name) + 1] if name in arguments else default


def delete(elements: list[Element]) -> None:
    """Delete those that are not over."""
    for element in elements:
        (element.path / "deleted").touch()


def bsub(state: Path, arguments: list[str]) -> int:
    name = option(arguments, "-J")
    count = int(re.search(r"\[1-(\d+)\]$", name)[1])  # type: ignore[index]
    if option(arguments, "-q") == "nowhere":
        print("nowhere: No such queue. Job not submitted.", file=sys.stderr)
        return 255
    env = {"LSB_JOBINDEX": "%I", "LSB_JOBNAME": name}
    mem_mb = int(option(arguments, "-M", "0MB").removesuffix("MB"))
    job = submit(state, name, count, option(arguments, "-o"), env, mem_mb=mem_mb)
    print(f"Job <{job}> is submitted to default queue <normal>.")
    return 0


def bjobs(state: Path, arguments: list[str]) -> int:
    elements = named(state, [one for one in arguments if one.isdecimal()])
    for element in elements:
        facts = element.read()
        code = facts.get("code", 0)
        reason, shown, word = "-", "-", {"waiting": "PEND", "running": "RUN"}.get(facts["state"])
        if word is None:
            word = "DONE" if code == 0 else "EXIT"
            if (element.path / "deleted").exists():
                reason = "TERM_OWNER: job killed by owner"
            reason = facts.get("reason", reason)
            shown = "-" if not code else str(code if code > 0 else 128 - code)
        pending = "Not enough slots" if word == "PEND" else "-"
        node = "-" if word == "PEND" else "node1"
        name = re.sub(r"\[.*", f"[{element.index}]", facts["name"])
        print("|".join((element.job, str(element.index), word, shown, reason, node, name, pending)))
    return 0


def bkill(state: Path, arguments: list[str]) -> int:
    elements = named(state, arguments)
    if option(arguments, "-s") == "KILL":
        send(elements, signal.SIGKILL)
    else:
        delete(elements)
    return 0


def qsub(state: Path, arguments: list[str]) -> int:
    array = option(arguments, "-J")
    if array == "1-1":
        print("qsub: illegal -J value", file=sys.stderr)
        return 1
    if option(arguments, "-q") == "nowhere":
        print("qsub: Unknown queue", file=sys.stderr)
        return 1
    count = int(array.partition("-")[2]) if array else 1
    env = {"PBS_ARRAY_INDEX": "%I"} if array else {}
    folder = option(arguments, "-o")
    log = f"{folder}job.o%J.%I" if folder.endswith("/") else folder
    name = option(arguments, "-N")
    job = submit(state, name, count, log, env, array=bool(array), mem_mb=0)
    print(f"{job}[].fake" if array else f"{job}.fake")
    return 0


def qstat(state: Path, arguments: list[str]) -> int:
    jobs: dict[str, Any] = {}
    for element in named(state, arguments):
        facts = element.read()
        word = {"waiting": "Q", "running": "R", "over": "X" if facts["array"] else "F"}[
            facts["state"]
        ]
        job = jobs[
            f"{element.job}[{element.index}].fake" if facts["array"] else f"{element.job}.fake"
        ] = {"job_state": word, "Job_Name": facts["name"]}
        if word == "Q":
            job["comment"] = "Not Running: Not enough free nodes available"
        else:
            job["exec_host"] = "node1/0"
        code = facts.get("code")
        if word in "FX" and code is not None:
            job["Exit_status"] = code if code >= 0 else 256 - code
    print(json.dumps({"Jobs": jobs}))
    return 0


def qdel(state: Path, arguments: list[str]) -> int:
    delete(named(state, arguments))
    return 0


def qsig(state: Path, arguments: list[str]) -> int:
    send(named(state, arguments), signal.Signals[option(arguments, "-s")])
    return 0


if __name__ == "__main__":
    if sys.argv[1] == "supervise":
        supervise(Element(Path(sys.argv[2])))
    else:
        folder = Path(sys.argv[2])
        if sys.argv[1] not in ("bsub", "qsub") and (folder / "silent").exists():
            sys.exit("cannot connect to the server")
        sys.exit(globals()[sys.argv[1]](folder, sys.argv[3:]))
