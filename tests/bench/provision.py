# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What a provision costs in which nothing changes: the working tree against a commit, in turns, in one run.

The fleets are the nine nodes of the demo, and copies of four of them (``--nodes``), each with the tree's own inventory.
Their nodes exist as objects of a real API server, one for each tree because their objects differ; what is on the nodes
is on this machine. Before anything is timed, each tree provisions until it changes nothing. In that run API requests
are counted, and the processes of modules by the Python that starts them: on the controller, and on nodes, where they
read facts. CPU is that of ansible-playbook and of all that it starts, on nodes as well; not that of the API server.
With ``--claims``, so many pods of the group h100 use claims.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(CHECKOUT / "build" / "collections"), str(CHECKOUT / "tests" / "lab")]

from control_plane import lifecycle

from ansible_collections.zerocopy.rdma.tests.bench.cluster_objects import GPU_CLASS, Object, node
from ansible_collections.zerocopy.rdma.tests.bench.trees import Tree, TreeError, checkout, commit_of

Fleet = dict[str, dict[str, str]]
# The demo's groups, with the recorded node of each host.
DEMO: Fleet = {
    "v100": {"v100-01": "v100-01", "v100-02": "v100-02"},
    "a100": {"a100-01": "a100-01", "a100-02": "a100-02"},
    "h100": {"h100-01": "h100-01", "h100-02": "h100-02", "h100-03": "h100-03"},
    "lab": {"lab-01": "lab-01", "lab-02": "lab-02"},
}
# Of these a large fleet has copies, as many of each. A /24 holds no more of them.
KINDS = {"v100": "v100-01", "a100": "a100-01", "h100": "h100-01", "lab": "lab-01"}
MOST = 250 * len(KINDS)
# No kubelet starts what provision would wait for. Older commits have a variable of each role.
WAIT, OF_ROLES = "rdma_wait", ("rdma_driver_wait", "rdma_host_device_wait", "rdma_shared_device_wait")
# Of the example inventory; in the cluster a hash of its content follows.
TEMPLATE = re.compile("h100-1nic-[0-9a-f]+")
DRIVER = "dra.net"
WRITERS = 8
SECONDS = 600


@dataclass
class Figures:
    """Of one tree: CPU seconds of each run, and what one run asks and starts."""

    cpu: list[float]
    requests: int
    processes: Mapping[str, int]


def copies(count: int) -> Fleet:
    """A fleet of ``count`` hosts."""
    groups: Fleet = {group: {} for group in KINDS}
    for number in range(count):
        group = list(KINDS)[number % len(KINDS)]
        groups[group][f"{group}-{number // len(KINDS) + 1:03d}"] = KINDS[group]
    return {group: hosts for group, hosts in groups.items() if hosts}


class Bench:
    """One tree with one fleet and an API server of its own."""

    def __init__(self, name: str, plane: lifecycle.ControlPlane, tree: Tree, fleet: Fleet, scratch: Path) -> None:
        self._name, self._plane, self._tree, self._fleet, self._scratch = name, plane, tree, fleet, scratch
        self._log = scratch / "processes"
        hosts = {host: kind for group in fleet.values() for host, kind in group.items()}
        self._kubectl("create", "-f", "-", stdin=_listed([GPU_CLASS, *map(node, hosts)]))
        self._nodes(hosts)
        self._sources = self._inventory()

    def provision(self) -> None:
        """Make the objects."""
        self._play()

    def settle(self) -> Figures:
        """Requests and processes of a run that changes nothing; one run may change something before."""
        found = self._count() or self._count()
        if found is None:
            raise TreeError(f"{self._name}: the third run changed something")
        return found

    def _count(self) -> Figures | None:
        """Figures of a run, None where it changes something."""
        self._log.write_text("")
        with self._requests() as asked:
            said = self._play(counted=True)
        started = self._log.read_text().split()
        return None if _changed(said) else Figures([], len(asked), Counter(started))

    def use(self, count: int) -> None:
        """Pods of the group h100, so many, whose claims are allocated and reserved for them."""
        if not count:
            return
        hosts = list(self._fleet["h100"])
        names = self._kubectl(
            "get", "resourceclaimtemplates", "-n", "default", "-o", "jsonpath={.items[*].metadata.name}"
        )
        (template,) = filter(TEMPLATE.fullmatch, names.split())
        pods = [_pod(number, hosts[number % len(hosts)], template) for number in range(count)]
        self._kubectl("create", "-f", "-", stdin=_listed(pods))
        deadline = time.monotonic() + SECONDS
        while len(claims := self._claims()) < count:
            if time.monotonic() > deadline:
                raise TreeError(f"{len(claims)} of {count} claims were made in {SECONDS} s")
            time.sleep(1)
        with ThreadPoolExecutor(WRITERS) as writers:
            list(writers.map(self._allocate, claims, range(count)))

    def _claims(self) -> list[Object]:
        found: list[Object] = json.loads(self._kubectl("get", "resourceclaims", "-n", "default", "-o", "json"))["items"]
        return found

    def _allocate(self, claim: Object, number: int) -> None:
        (owner,) = claim["metadata"]["ownerReferences"]
        (request,) = claim["spec"]["devices"]["requests"]
        result = {"request": request["name"], "driver": DRIVER, "pool": f"pool-{number}", "device": "nic"}
        status = {
            "allocation": {"devices": {"results": [result]}},
            "reservedFor": [{"resource": "pods", "name": owner["name"], "uid": owner["uid"]}],
        }
        where = ("resourceclaim", claim["metadata"]["name"], "-n", "default", "--subresource=status", "--type=merge")
        self._kubectl("patch", *where, "-p", json.dumps({"status": status}))

    def unchanged(self) -> float:
        """CPU seconds of a run; :class:`TreeError` where it changes something."""
        used = _cpu()
        changed = _changed(self._play())
        if changed:
            raise TreeError(f"{self._name}: a run changed {changed} things when nothing was left to change")
        return _cpu() - used

    def _play(self, counted: bool = False) -> str:
        layer = ["counted/hosts.yml"] if counted else []
        sources = [self._sources / source for source in ("inventory", "layer/hosts.yml", *layer)]
        return self._tree.play("provision", sources, {"K8S_AUTH_KUBECONFIG": str(self._plane.kubeconfig)})

    def _nodes(self, hosts: Mapping[str, str]) -> None:
        first = self._scratch / "first"
        expand = [sys.executable, str(CHECKOUT / "tests/fleet/expand.py"), "--output", str(first)]
        chosen = [f"--node={kind}" for kind in sorted(set(hosts.values()))]
        subprocess.run([*expand, *chosen], check=True, stdout=subprocess.DEVNULL)
        for host, kind in hosts.items():
            # Nothing is written to them.
            (self._scratch / "nodes").mkdir(exist_ok=True)
            (self._scratch / "nodes" / host).symlink_to(first / kind)

    def _inventory(self) -> Path:
        """The tree's example inventory with these hosts."""
        tree, directory = self._tree, self._scratch / "sources"
        shutil.copytree(tree.path / "inventory", directory / "inventory")
        example = yaml.safe_load((directory / "inventory/hosts.yml").read_text())["all"]["children"]
        lab = yaml.safe_load((tree.path / "tests/fleet/inventory.yml").read_text())["all"]["children"]["lab"]["vars"]
        groups: Object = {
            group: {"hosts": {host: example.get(group, {}).get("hosts", {}).get(host) for host in hosts}}
            for group, hosts in self._fleet.items()
        }
        _write(directory / "inventory/hosts.yml", {"all": {"children": groups}})
        defaults = "".join(path.read_text() for path in tree.path.glob("roles/*/defaults/main.yml"))
        waits = [name for name in OF_ROLES if f"{name}:" in defaults] or [WAIT]
        own = {
            **dict.fromkeys(waits, False),
            "rdma_cluster": "kubernetes",
            "ansible_connection": "local",
            "ansible_python_interpreter": sys.executable,
            "rdma_discover_root": f"{self._scratch}/nodes/{{{{ inventory_hostname }}}}",
        }
        _write(directory / "layer/hosts.yml", {"all": {"children": dict.fromkeys(groups)}})
        _write(directory / "layer/group_vars/all.yml", own)
        _write(directory / "layer/group_vars/lab.yml", lab)
        _write(directory / "counted/hosts.yml", {"all": {"children": dict.fromkeys(groups)}})
        _write(directory / "counted/group_vars/all.yml", self._python("node"))
        _write(directory / "counted/host_vars/localhost.yml", self._python("controller"))
        return directory

    def _python(self, where: str) -> Mapping[str, str]:
        """Variables by which modules are started by a Python that notes it."""
        path = self._scratch / f"python-{where}"
        path.write_text(f'#!/bin/sh\necho {where} >>{self._log}\nexec {sys.executable} "$@"\n')
        path.chmod(0o755)
        return {"ansible_python_interpreter": str(path)}

    @contextmanager
    def _requests(self) -> Iterator[list[str]]:
        """Verb and path of each request meanwhile, of the API server's audit log."""
        found: list[str] = []
        audit = self._plane.audit
        assert audit is not None
        start = audit.stat().st_size
        yield found
        # The last of the requests is in the log when a later one is.
        mark = f"mark-{time.monotonic_ns()}"
        self._kubectl("get", "configmap", mark, "-n", "default", "--ignore-not-found")
        lines: list[str] = []
        while not any(mark in line for line in lines):
            time.sleep(0.1)
            with audit.open() as log:
                log.seek(start)
                lines = log.readlines()
        for line in lines:
            event = json.loads(line) if line.endswith("\n") else {}
            if event.get("stage") == "ResponseComplete" and not event["userAgent"].startswith("kubectl"):
                found.append(f"{event['verb']} {event['requestURI']}")

    def _kubectl(self, *arguments: str, stdin: str = "") -> str:
        command = [str(self._plane.kubectl), "--kubeconfig", str(self._plane.kubeconfig), *arguments]
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)
        if done.returncode:
            raise TreeError(f"kubectl {' '.join(arguments)[:200]}: {done.stderr[-2000:]}")
        return done.stdout


def _changed(said: str) -> int:
    """How much a run has changed, by what it says at its end."""
    return sum(int(count) for count in re.findall(r" changed=(\d+) ", said))


def _cpu() -> float:
    """Seconds that the programs started from here have used, with all that these started."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _write(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(content))


def _listed(items: list[Object]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})


def _pod(number: int, node: str, template: str) -> Object:
    """A pod that is on this node already, with a claim of the template."""
    container = {"name": "main", "image": "example.org/none:v1", "resources": {"claims": [{"name": "rdma"}]}}
    claims = [{"name": "rdma", "resourceClaimTemplateName": template}]
    spec = {"nodeName": node, "containers": [container], "resourceClaims": claims}
    meta = {"name": f"pod-{number:05d}", "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


@contextmanager
def _bench(name: str, tree: Tree, fleet: Fleet) -> Iterator[Bench]:
    scratch = Path(tempfile.mkdtemp(prefix="bench-", dir=CHECKOUT / "build"))
    try:
        with lifecycle.running(f"bench-{name}-{os.getpid()}", audit=True) as plane:
            yield Bench(name, plane, tree, fleet, scratch)
    finally:
        shutil.rmtree(scratch)


def compare(trees: Mapping[str, Tree], fleet: Fleet, claims: int, rounds: int) -> Object:
    """Figures of both trees with one fleet, printed as well."""
    hosts = sum(len(group) for group in fleet.values())
    what = f"{hosts} nodes, {claims} claims in use"
    with ExitStack() as stack:
        benches = {name: stack.enter_context(_bench(name, tree, fleet)) for name, tree in trees.items()}
        figures = {}
        for name, bench in benches.items():
            bench.provision()
            bench.use(claims)
            figures[name] = bench.settle()
        for _round in range(rounds):
            for name, bench in benches.items():
                figures[name].cpu.append(bench.unchanged())
    found: Object = {}
    for name, one in figures.items():
        spent = statistics.median(one.cpu)
        found[name] = {**vars(one), "median": spent}
        runs = " ".join(f"{seconds:.1f}" for seconds in one.cpu)
        print(
            f"{what:36} {name:8} {spent:8.1f} {one.requests:9} {one.processes['controller']:11}"
            f" {one.processes['node']:6}   {runs}",
            flush=True,
        )
    base, now = list(found)
    ratio = found[base]["median"] / found[now]["median"]
    print(f"{what:36} CPU of {base} / {now}: {ratio:.2f}", flush=True)
    return {"what": what, **found, "ratio": ratio}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", required=True, metavar="COMMIT")
    parser.add_argument("--nodes", type=int, nargs="*", default=[400], help=f"sizes of large fleets, up to {MOST}")
    parser.add_argument("--no-demo", action="store_true", help="leave the demo's fleet out")
    parser.add_argument(
        "--claims", type=int, default=0, help="in use on the large fleets (issue 33: 2000 with 500 nodes)"
    )
    parser.add_argument("--rounds", type=int, default=3, help="timed runs of each tree (%(default)s)")
    parser.add_argument("--json", type=Path, help="file for the figures")
    options = parser.parse_args()
    if not all(len(KINDS) <= count <= MOST for count in options.nodes):
        parser.error(f"--nodes: {len(KINDS)} to {MOST}")
    found = []
    try:
        trees = {"base": checkout(commit_of(options.base)), "now": Tree(CHECKOUT)}
        print(f"A provision in which nothing changes: {options.base} (base) and the working tree (now), in turns")
        print(f"{'':36} {'tree':8} {'CPU s':>8} {'requests':>9} {'processes':>11} {'nodes':>6}   runs")
        if not options.no_demo:
            found.append(compare(trees, DEMO, 0, options.rounds))
        for count in options.nodes:
            found.append(compare(trees, copies(count), options.claims, options.rounds))
    except TreeError as error:
        sys.exit(f"bench-cluster: {error}")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
