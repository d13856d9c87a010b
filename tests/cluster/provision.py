# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The playbooks as a user runs them, with the example inventory, recorded nodes and a real API server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import MappingProxyType
from typing import Any, Callable, Dict, Iterator, List, Mapping, Sequence, Tuple

import pytest
import yaml
from kubernetes import dynamic

from ansible_collections.zerocopy.rdma.tests.cluster.claims_cluster import GPU_CLASS, node
from ansible_collections.zerocopy.rdma.tests.cluster.cluster_set import ClusterSet, Object

CHECKOUT = Path(__file__).resolve().parents[2]
# The task in which a host fails that is not served.
SERVED = "Fail if the host is not served"
# A step of cluster_apply, and all that its steps show with --diff.
STEP, DIFF = "step", "diff of the cluster"
HOSTS = ["v100-01", "v100-02", "a100-01", "a100-02", "h100-01", "h100-02", "h100-03", "lab-01", "lab-02"]

Results = Dict[str, Object]

Templates = Mapping[str, List[Object]]
Groups = Mapping[str, Mapping[str, Any]]
NO_GROUPS: Mapping[str, Any] = MappingProxyType({})
# The example inventory with claims in these groups as well, so that more than one group has them.
_CLAIMING: Groups = {
    "v100": {
        "rdma_strategy": "dra",
        "rdma_claims_templates": [
            {"name": "v100-2gpu-1nic", "gpus": 2, "nics": 1},
            {"name": "v100-1nic", "nics": 1},
        ],
    },
    "a100": {
        "rdma_strategy": "dra",
        "rdma_claims_templates": [
            {"name": "a100-8gpu-1nic", "gpus": 8, "nics": 1, "align": "none"},
            {"name": "a100-1nic", "nics": 1},
        ],
    },
}


def _claiming(groups: Groups) -> Groups:
    return {group: {**_CLAIMING.get(group, {}), **groups.get(group, {})} for group in {**_CLAIMING, **groups}}


class Playbook:
    """Runs provision.yml as a user would, and tells what its modules said."""

    def __init__(
        self, plane: Any, nodes: Path, scratch: Path, hosts: Sequence[str] = (), away: Sequence[str] = ()
    ) -> None:
        self._plane, self._nodes, self._scratch, self._hosts, self._away = plane, nodes, scratch, hosts, away
        self._environment = {
            **os.environ,
            "ANSIBLE_CONFIG": str(CHECKOUT / "ansible.cfg"),
            "ANSIBLE_STDOUT_CALLBACK": "ansible.posix.json",
            "K8S_AUTH_KUBECONFIG": str(plane.kubeconfig),
            "LC_ALL": "C.UTF-8",
        }

    def of(self, *hosts: str) -> Playbook:
        """The same with an inventory of these hosts alone: a run takes about as long as its hosts are many."""
        return Playbook(self._plane, self._nodes, self._scratch, hosts)

    def without(self, *away: str) -> Playbook:
        """The same where these hosts cannot be reached."""
        return Playbook(self._plane, self._nodes, self._scratch, self._hosts, away)

    def __call__(
        self,
        *options: str,
        name: str = "provision.yml",
        templates: Templates = NO_GROUPS,
        groups: Groups = NO_GROUPS,
        **variables: Any,
    ) -> Results:
        """The results of the modules by task and of the first host.

        ``templates`` are those of groups that differ, ``groups`` other variables of theirs.
        """
        layer = {**groups, **{group: {"rdma_claims_templates": wanted} for group, wanted in templates.items()}}
        done = self._run(options, _claiming(layer), variables, name)
        assert done.returncode == 0, done.stdout + done.stderr
        return _results(done.stdout)

    def example(self, *options: str, name: str = "provision.yml", **variables: Any) -> Results:
        """The same of the example inventory as it stands."""
        done = self._run(options, NO_GROUPS, variables, name)
        assert done.returncode == 0, done.stdout + done.stderr
        return _results(done.stdout)

    def partly(self, *options: str, groups: Groups = NO_GROUPS, **variables: Any) -> Tuple[Dict[str, str], Results]:
        """What hosts that are not served are told, where only they fail, and the results of the modules.

        Hosts that cannot be reached are among them, and told nothing.
        """
        done = self._run(options, _claiming(groups), variables)
        assert done.returncode != 0, done.stdout
        played = _document(done.stdout)
        tasks = [task for play in played["plays"] for task in play["tasks"] if task["task"]["name"] == SERVED]
        said = {host: str(one["msg"]) for task in tasks for host, one in task["hosts"].items() if one.get("failed")}
        assert {host for host, count in played["stats"].items() if count["failures"]} == set(said)
        unreachable = {host: "" for host, count in played["stats"].items() if count["unreachable"]}
        return {**said, **unreachable}, _results(done.stdout)

    def refused(self, *options: str, name: str = "provision.yml", groups: Groups = NO_GROUPS, **variables: Any) -> str:
        """What the playbook says when it fails."""
        done = self._run(options, _claiming(groups), variables, name)
        assert done.returncode != 0, done.stdout
        results = [result for task in _tasks(done.stdout) for result in task["hosts"].values()]
        # Where a failure is rescued, the last one is what the user is told.
        return str([result["msg"] for result in results if result.get("failed")][-1])

    def verified(self, *options: str, groups: Groups = NO_GROUPS, **variables: Any) -> Tuple[str, Object]:
        """What verify.yml says at its end, where it fails, and its report."""
        report = self._scratch / "report"
        done = self._run(options, _claiming(groups), {"rdma_verify_directory": str(report), **variables}, "verify.yml")
        # 4: a host cannot be reached.
        assert done.returncode in (0, 2, 4), done.stdout + done.stderr
        last = list(_results(done.stdout).values())[-1]
        document: Object = json.loads((report / "verify.json").read_text())
        return str(last["msg"]) if last.get("failed") else "", document

    def _run(
        self, options: Sequence[str], groups: Groups, variables: Mapping[str, Any], name: str = "provision.yml"
    ) -> subprocess.CompletedProcess[str]:
        layer = self._scratch / "inventory"
        (layer / "group_vars").mkdir(parents=True, exist_ok=True)
        nowhere = {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 1}
        hosts = {"hosts": dict.fromkeys(self._away, nowhere), "children": {group: {} for group in groups}}
        (layer / "hosts.yml").write_text(json.dumps({"all": hosts}))
        for group, own in groups.items():
            (layer / "group_vars" / f"{group}.yml").write_text(json.dumps(own))
        every = {
            "rdma_cluster": "kubernetes",
            "rdma_wait": False,
            "rdma_discover_root": f"{self._nodes}/{{{{ inventory_hostname }}}}",
            **variables,
        }
        inventories = [*self._inventories(), *([layer / "hosts.yml"] if groups else [])]
        # Otherwise, objects are only counted.
        more = [*options, "-v"] if "--diff" in options else options
        command = [
            str(Path(sys.executable).with_name("ansible-playbook")),
            str(CHECKOUT / "playbooks" / name),
        ]
        return subprocess.run(
            [*command, "--extra-vars", json.dumps(every), *(f"--inventory={one}" for one in inventories), *more],
            cwd=CHECKOUT,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def _inventories(self) -> List[Path]:
        """The example inventory and the recorded nodes beside it, or copies with the wanted hosts only."""
        sources = [CHECKOUT / "inventory" / "hosts.yml", CHECKOUT / "tests" / "fleet" / "inventory.yml"]
        if not self._hosts:
            return sources
        copies = self._scratch / "hosts" / "tests" / "fleet"
        copies.mkdir(parents=True, exist_ok=True)
        if not (copies / "group_vars").exists():
            (copies / "group_vars").symlink_to(CHECKOUT / "inventory" / "group_vars")
        return [_copy(source, copies / source.name, self._hosts) for source in sources]


def _copy(source: Path, target: Path, hosts: Sequence[str]) -> Path:
    """Copy an inventory file with these hosts, and the groups that have some of them."""
    content = yaml.safe_load(source.read_text())
    groups = content["all"]["children"]
    for name, group in list(groups.items()):
        group["hosts"] = {host: own for host, own in group["hosts"].items() if host in hosts}
        if not group["hosts"]:
            del groups[name]
    target.write_text(json.dumps(content))
    return target


def _document(text: str) -> Dict[str, Any]:
    """What the json callback printed; with -v, the configuration file is named above."""
    found: Dict[str, Any] = json.loads(text[text.index("{\n") :])
    return found


def _tasks(text: str) -> List[Object]:
    return [task for play in _document(text)["plays"] for task in play["tasks"]]


def _results(text: str) -> Results:
    """Results by task and, of what was done in the cluster, by step; :data:`DIFF` has the differences of all steps."""
    found: Results = {}
    diffs: List[Object] = []
    for task in _tasks(text):
        if not task["hosts"]:
            continue
        result = next(iter(task["hosts"].values()))
        found[task["task"]["name"].rpartition(" : ")[2]] = result
        for step in result.get("steps", []):
            found[step["title"]] = {"action": STEP, **step}
        if "steps" in result:
            # Claims are applied and counted apart where they come after the drivers.
            diffs += [each for each in result.get("diff", []) if "prepared" not in each]
    # First: the last result is that of the last task.
    return {DIFF: {"action": DIFF, "diff": diffs}, **found}


@pytest.fixture(scope="session", name="nodes")
def make_nodes(root_of: Callable[[str], Path]) -> Path:
    """Directory with a tree for each host."""
    (found,) = {root_of(name).parent for name in HOSTS}
    return found


@pytest.fixture(name="cluster_set")
def make_set_of_inventory(
    control_plane: Any,
    cluster: dynamic.DynamicClient,
    namespace: str,
    run_module: Callable[..., Object],
) -> Iterator[ClusterSet]:
    """For a look at a cluster with the nodes of the inventory and the class of GPUs, which is as before at the end."""
    found = ClusterSet(run_module, control_plane, namespace)
    items = [GPU_CLASS, *(node(name) for name in HOSTS)]
    found.kubectl("create", "-f", "-", stdin={"apiVersion": "v1", "kind": "List", "items": items})
    tainted = set(HOSTS)
    for event in cluster.resources.get(api_version="v1", kind="Node").watch(timeout=60):
        # Every new node is tainted until a controller has seen that it is ready.
        if not event["raw_object"]["spec"].get("taints"):
            tainted.discard(event["raw_object"]["metadata"]["name"])
        if not tainted:
            break
    assert not tainted
    yield found
    # No kubelet ends them.
    found.kubectl("delete", "pods", "-n", namespace, "--all", "--force")
    # Whatever a test that failed had come to.
    sets = found.kubectl("get", "secrets", "-n", "kube-system", "-l", "applyset.kubernetes.io/id", "-o", "name")
    for parent in sets.split():
        gone = found(name=parent.partition("/")[2], namespace="kube-system", state="absent")
        assert {one["action"] for one in gone["objects"]} <= {"pruned"}
    found.kubectl("delete", "nodes", *HOSTS)
    found.kubectl("delete", "deviceclass", GPU_CLASS["metadata"]["name"])
    found.kubectl("delete", "pods", "-n", "kube-system", "-l", "app.kubernetes.io/name=dranet", "--force")


@pytest.fixture(name="playbook")
def make_playbook(control_plane: Any, nodes: Path, tmp_path: Path) -> Playbook:
    return Playbook(control_plane, nodes, tmp_path)
