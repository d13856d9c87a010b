# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Runs on a guest: pods as a kubelet asks for them, over CRI and without a cluster; ``container_image.py load`` first.

    python3 pod.py limits [NAME]          run a pod, print what a process in it sees, remove it
    python3 pod.py start NAME             start a pod that stays, print its sandbox's id
    python3 pod.py fail NAME [ATTEMPTS]   start a pod that has to fail; a kubelet tries again, so twice by default
    python3 pod.py remove NAME            remove the pods of that name

Pods are in the node's network, so no CNI is needed. ``KEY=VALUE`` arguments become annotations. The answer is JSON.
"""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Dict, List

IMAGE = "localhost/lab:latest"
LOGS = Path("/var/log/lab-pods")
SECONDS = 180
# The values of CRI's enumeration NamespaceMode.
OF_NODE = 2


def crictl(*argv: str) -> subprocess.CompletedProcess[str]:
    """Ask the container runtime; a pod that hangs is a failure of its own, so there is a limit."""
    return subprocess.run(["crictl", "--timeout", f"{SECONDS}s", *argv], capture_output=True, text=True, check=False)


def must(*argv: str) -> str:
    """Ask the container runtime for something that has to succeed."""
    done = crictl(*argv)
    if done.returncode:
        sys.exit(f"crictl {' '.join(argv)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout.strip()


def pod_config(name: str, annotations: Dict[str, str]) -> Dict[str, Any]:
    """Return CRI's PodSandboxConfig; the same name gives the same sandbox name, as a kubelet's second attempt does."""
    return {
        "metadata": {"name": name, "namespace": "lab", "uid": f"uid-{name}", "attempt": 0},
        "annotations": annotations,
        "log_directory": str(LOGS / name),
        "linux": {"security_context": {"namespace_options": {"network": OF_NODE}}},
    }


def run_sandbox(name: str, annotations: Dict[str, str], scratch: Path) -> subprocess.CompletedProcess[str]:
    """Ask for a pod; its configuration stays in the scratch directory for the containers."""
    (scratch / "pod.json").write_text(json.dumps(pod_config(name, annotations)))
    return crictl("runp", str(scratch / "pod.json"))


def succeeded(done: subprocess.CompletedProcess[str]) -> str:
    """Return the sandbox's id."""
    if done.returncode:
        sys.exit(f"crictl runp: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout.strip()


def container_config(name: str, script: str, environment: Dict[str, str]) -> Dict[str, Any]:
    """Return CRI's ContainerConfig; the script is the first process, whose limits come from the specification."""
    return {
        "metadata": {"name": name, "attempt": 0},
        "image": {"image": IMAGE},
        "command": ["/bin/sh", "-c", script],
        "envs": [{"key": key, "value": value} for key, value in environment.items()],
        "log_path": f"{name}.log",
    }


def created(sandbox: str, config: Dict[str, Any], scratch: Path) -> subprocess.CompletedProcess[str]:
    """Ask for a container in the pod whose configuration is in the scratch directory."""
    (scratch / "container.json").write_text(json.dumps(config))
    return crictl("create", sandbox, str(scratch / "container.json"), str(scratch / "pod.json"))


def ended(name: str, container: str, identity: str) -> str:
    """Start a container of the pod of this name, wait until it has ended, and return what it printed."""
    must("start", identity)
    end = time.monotonic() + SECONDS
    while True:
        status = json.loads(must("inspect", identity))["status"]
        if status["state"] == "CONTAINER_EXITED":
            break
        if time.monotonic() > end:
            sys.exit(f"container {container} of pod {name} does not end: {status}")
        time.sleep(0.3)
    # CRI's log format: time, stream, a tag for partial lines, the text.
    lines = [line.split(" ", 3)[3] for line in (LOGS / name / f"{container}.log").read_text().splitlines()]
    if status["exitCode"]:
        sys.exit(f"container {container} of pod {name}: exit code {status['exitCode']}\n" + "\n".join(lines))
    return "\n".join(lines)


def output_of(sandbox: str, name: str, script: str, scratch: Path) -> str:
    """Run a script as the first process of a container of the pod and return what it printed."""
    done = created(sandbox, container_config("main", script, {}), scratch)
    if done.returncode:
        sys.exit(f"crictl create: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return ended(name, "main", done.stdout.strip())


def bytes_or_unlimited(text: str) -> int:
    """Return a limit as a number, -1 when there is none."""
    return resource.RLIM_INFINITY if text == "unlimited" else int(text)


def limits(name: str, annotations: Dict[str, str]) -> Dict[str, Any]:
    """Run a pod, see what a process in it may lock, remove the pod."""
    remove(name, {})
    with tempfile.TemporaryDirectory() as directory:
        scratch = Path(directory)
        sandbox = succeeded(run_sandbox(name, annotations, scratch))
        try:
            script = "cat /proc/self/limits; echo; ls /dev/infiniband 2>/dev/null || true"
            told = output_of(sandbox, name, script, scratch)
        finally:
            remove(name, {})
    table, _empty, devices = told.partition("\n\n")
    row = next(line for line in table.splitlines() if line.startswith("Max locked memory")).split()
    return {
        "pod": name,
        "sandbox": sandbox,
        "memlock_soft": bytes_or_unlimited(row[3]),
        "memlock_hard": bytes_or_unlimited(row[4]),
        "infiniband": devices.split(),
    }


def start(name: str, annotations: Dict[str, str]) -> Dict[str, Any]:
    """Start a pod that stays."""
    with tempfile.TemporaryDirectory() as directory:
        return {"pod": name, "sandbox": succeeded(run_sandbox(name, annotations, Path(directory)))}


def fail(name: str, annotations: Dict[str, str], attempts: int = 2) -> Dict[str, Any]:
    """Ask for a pod that must not start, as often as told; one that does start is an error."""
    errors: List[str] = []
    with tempfile.TemporaryDirectory() as directory:
        for attempt in range(attempts):
            done = run_sandbox(name, annotations, Path(directory))
            if done.returncode == 0:
                remove(name, {})
                sys.exit(f"pod {name} started at attempt {attempt + 1} and should not have: {done.stdout}")
            errors.append(done.stderr.strip().splitlines()[-1])
    return {"pod": name, "errors": errors}


def remove(name: str, _annotations: Dict[str, str]) -> Dict[str, Any]:
    """Remove the pods of that name with their containers and logs."""
    pods = json.loads(must("pods", "--output", "json"))["items"]
    gone = [pod["id"] for pod in pods if pod["metadata"]["name"] == name]
    if gone:
        must("rmp", "--force", *gone)
    shutil.rmtree(LOGS / name, ignore_errors=True)
    return {"pod": name, "removed": gone}


def main() -> None:
    """Do what the command line asks for and print the answer."""
    annotations = dict(word.split("=", 1) for word in sys.argv[2:] if "=" in word)
    words = [word for word in sys.argv[2:] if "=" not in word]
    command = sys.argv[1]
    if command == "fail" and len(words) == 2:
        answer = fail(words[0], annotations, int(words[1]))
    else:
        commands = {"limits": limits, "start": start, "fail": fail, "remove": remove}
        answer = commands[command](words[0] if words else "limits", annotations)
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
