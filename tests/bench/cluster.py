# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What many claims cost with applyset, with kubectl and with kubernetes.core.k8s, first and second run, all in one run.

Each way has a namespace of its own on an API server that is started for it, or on the one that KUBECONFIG names. The
claims are synthesised: a GPU and a NIC on one PCIe root complex, and an address. Each playbook has one task, and has
run before with one claim, so that Python's bytecode is cached. A loop over kubernetes.core.k8s takes minutes, so it
runs over some of the claims only, and what these take beyond an empty play is multiplied.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(CHECKOUT / "tests/lab"))

from control_plane import lifecycle

PLAYBOOK = [
    "ansible-playbook",
    "--inventory=localhost,",
    "--connection=local",
    f"--extra-vars=ansible_python_interpreter={sys.executable}",
]
OBJECTS = "{{ lookup('file', claims) | from_json }}"
# Without it the second run fails: the merge patch would remove what the API server filled in, and claims are immutable.
SERVER_SIDE = {"apply": True, "server_side_apply": {"field_manager": "bench"}}
TASKS: Dict[str, Dict[str, Any]] = {
    "empty play": {"ansible.builtin.meta": "noop"},
    "applyset": {"zerocopy.rdma.applyset": {"name": "bench", "namespace": "{{ place }}", "objects": OBJECTS}},
    "k8s, one list": {"kubernetes.core.k8s": {"definition": OBJECTS, **SERVER_SIDE}},
    "k8s, loop": {
        "kubernetes.core.k8s": {"definition": "{{ item }}", **SERVER_SIDE},
        "loop": OBJECTS,
        "loop_control": {"label": "{{ item.metadata.name }}"},
    },
}


def claims(count: int, namespace: str) -> List[Dict[str, Any]]:
    """So many claims, no two alike."""
    found = []
    for number in range(count):
        requests = [
            {"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com"}},
            {
                "name": "nic",
                "exactly": {
                    "deviceClassName": "rdma-nic",
                    "selectors": [{"cel": {"expression": 'device.attributes["dra.net"].rdma == true'}}],
                },
            },
        ]
        address = f"10.20.{number // 250}.{number % 250 + 1}/16"
        parameters = {"interface": {"name": "rdma0", "addresses": [address], "mtu": 9000}}
        devices = {
            "requests": requests,
            "constraints": [{"requests": ["gpu", "nic"], "matchAttribute": "resource.kubernetes.io/pcieRoot"}],
            "config": [{"requests": ["nic"], "opaque": {"driver": "dra.net", "parameters": parameters}}],
        }
        meta = {"name": f"claim-{number:04d}", "namespace": namespace, "labels": {"app": "bench"}}
        api = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim"}
        found.append({**api, "metadata": meta, "spec": {"devices": devices}})
    return found


def timed(command: List[str], stdin: str = "") -> Tuple[float, str]:
    """Seconds and output of a command that has to succeed."""
    environment = {**os.environ, "ANSIBLE_CONFIG": str(CHECKOUT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"}
    # With it Python compiles the kubernetes library anew in each run.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    begin = time.monotonic()
    done = subprocess.run(
        command,
        input=stdin,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    spent = time.monotonic() - begin
    if done.returncode:
        sys.exit(f"{done.stdout[-5000:]}\n{' '.join(command)} failed")
    return spent, done.stdout


class Bench:
    """One way after the other on one API server."""

    def __init__(self, kubectl: str, scratch: Path, count: int, some: int) -> None:
        self._kubectl = kubectl
        self._scratch = scratch
        self._count = count
        self._some = some
        self.seconds: Dict[str, Tuple[float, float]] = {}

    def _twice(self, name: str, namespace: str, call: Callable[[], float], count: int) -> None:
        """Time the first and the second run in a namespace that holds nothing else, and is then deleted."""
        timed([self._kubectl, "create", "namespace", namespace])
        start = self.seconds["empty play"][0]
        first, second = (
            spent if count == self._count else start + (spent - start) * self._count / count
            for spent in (call(), call())
        )
        self.seconds[name] = (first, second)
        print(f"{name:20} {first:9.2f} {second:9.2f}", flush=True)
        _spent, there = timed([self._kubectl, "get", "resourceclaims", "-n", namespace, "-o", "name"])
        if len(there.split()) != count:
            sys.exit(f"{name}: {len(there.split())} claims were made instead of {count}")
        timed([self._kubectl, "delete", "namespace", namespace])

    def _file(self, namespace: str, count: int, as_list: bool) -> Path:
        objects = claims(count, namespace)
        path = self._scratch / f"{namespace}.json"
        path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects} if as_list else objects))
        return path

    def _play(self, name: str, namespace: str, count: int) -> List[str]:
        """The command that runs a playbook with this task alone."""
        play = [{"hosts": "localhost", "gather_facts": False, "tasks": [TASKS[name]]}]
        path = self._scratch / f"{namespace}.yml"
        path.write_text(json.dumps(play))
        variables = {"place": namespace, "claims": str(self._file(namespace, count, as_list=False))}
        return [*PLAYBOOK, str(path), "-e", json.dumps(variables)]

    def playbook(self, name: str, count: int) -> None:
        """Time a playbook with one task."""
        timed([*self._play(name, "default", 1), "--check"])
        namespace = "bench-" + name.replace(", ", "-").replace(" ", "-")
        command = self._play(name, namespace, count)
        self._twice(name, namespace, lambda: timed(command)[0], count)

    def start(self) -> None:
        """Time a play whose task does nothing, the better of two."""
        command = self._play("empty play", "default", 1)
        spent = min(timed(command)[0] for _run in range(2))
        self.seconds["empty play"] = (spent, spent)
        print(f"{'empty play':20} {spent:9.2f} {spent:9.2f}", flush=True)

    def kubectl(self) -> None:
        """Time kubectl's server-side apply."""
        path = self._file("bench-kubectl", self._count, as_list=True)
        command = [self._kubectl, "apply", "--server-side", "-f", str(path)]
        self._twice("kubectl", "bench-kubectl", lambda: timed(command)[0], self._count)

    def run(self) -> None:
        """Everything, with the ratios that matter."""
        print(f"{self._count} claims          first    second  (seconds)")
        self.start()
        self.kubectl()
        self.playbook("applyset", self._count)
        self.playbook("k8s, one list", self._count)
        if self._some:
            self.playbook("k8s, loop", self._some)
        first, second = self.seconds["applyset"]
        start = self.seconds["empty play"][0]
        allowed = self.seconds["kubectl"][0] + start
        print(f"\nfirst run, kubectl + empty play / applyset   {allowed / first:6.2f}  (aim: 1 or more)")
        print(f"second run, kubectl / applyset               {self.seconds['kubectl'][1] / second:6.2f}  (aim: over 1)")
        for name in ("k8s, one list", "k8s, loop"):
            if name in self.seconds:
                ratio = self.seconds[name][1] / second
                print(f"second run, {name + ' / applyset':33}{ratio:6.2f}  (aim: 4 or more)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--claims", type=int, default=1000)
    parser.add_argument("--loop", type=int, default=20, help="claims that the loop really makes, 0 for no loop")
    parser.add_argument("--json", type=Path, help="file for the figures")
    options = parser.parse_args()
    with contextlib.ExitStack() as until_the_end:
        kubectl = "kubectl"
        if "KUBECONFIG" not in os.environ:
            plane = until_the_end.enter_context(lifecycle.running(f"bench-{os.getpid()}"))
            kubectl, os.environ["KUBECONFIG"] = str(plane.kubectl), str(plane.kubeconfig)
        scratch = until_the_end.enter_context(tempfile.TemporaryDirectory(prefix="bench-", dir=CHECKOUT / "build"))
        bench = Bench(kubectl, Path(scratch), options.claims, options.loop)
        bench.run()
    if options.json:
        options.json.write_text(json.dumps(bench.seconds, indent=1))


if __name__ == "__main__":
    main()
