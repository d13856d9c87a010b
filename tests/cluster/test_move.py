# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Nodes that move from one strategy to another on a real API server, with its real eviction and DaemonSets.

There are no kubelets: what a step waits for from one of them is played (:mod:`kubelets`).
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import pytest
from kubernetes import dynamic

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube import node_labels
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.nodes import moves
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.nodes import use as node_use
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies import registry
from ansible_collections.zerocopy.rdma.plugins.modules import node_move, node_move_info
from ansible_collections.zerocopy.rdma.tests.cluster import accounts
from ansible_collections.zerocopy.rdma.tests.cluster.claims_cluster import placed_on
from ansible_collections.zerocopy.rdma.tests.cluster.cluster_set import ClusterSet, Object
from ansible_collections.zerocopy.rdma.tests.cluster.kubelets import DRIVER, HOST_DEVICE, PLUGIN, Kubelets
from ansible_collections.zerocopy.rdma.tests.cluster.provision import Playbook, make_set_of_inventory
from ansible_collections.zerocopy.rdma.tests.cluster.rights import asked_by, documented, idle, users
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.claims_plan import published
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.resource_slices import resource_slices

# A fixture that is defined elsewhere.
__all__ = ["make_set_of_inventory"]

NODES, RESOURCE = ("v100-01", "v100-02"), "rdma/rdma_v100"
INJECT, THEIRS = "zerocopy.rdma.node-restriction.kubernetes.io/inject", "example.org/rdma"
OURS = [DRIVER, PLUGIN, HOST_DEVICE, INJECT]
HOSTDEV = "nvidia.com/hostdev_v100"
PLUGINS = {PLUGIN: RESOURCE, HOST_DEVICE: HOSTDEV, THEIRS: RESOURCE}
SHOWS: Dict[str, Object] = {
    "dra": {"pods": True, "drivers": ["dra.net"]},
    "shared_device": {"pods": True, "resources": {RESOURCE: 63}},
    "host_device": {"pods": True, "resources": {HOSTDEV: 63}},
    "inject": {"pods": False, "resources": {"rdma.io/hca": 100}},
}
Facts = Callable[..., Dict[str, Any]]


class Moving:
    """Steps on nodes that have the shared device plugin, or DRANET, by DaemonSets with the labels of the real ones."""

    def __init__(self, cluster_set: ClusterSet, run: Callable[..., Object], kubeconfig: str) -> None:
        self.kubectl, self.namespace = cluster_set.kubectl, cluster_set.namespace
        self._run, self._kubeconfig = run, kubeconfig

    def daemon_sets(self) -> None:
        for name, label in (("shared", PLUGIN), ("host", HOST_DEVICE), ("driver", DRIVER)):
            self.daemon_set(name, label, "none")

    def daemon_set(self, name: str, label: str, image: str) -> None:
        labels = {"app": name}
        spec: Object = {"nodeSelector": {label: "v100"}, "containers": [{"name": "c", "image": image}]}
        template = {"metadata": {"labels": labels}, "spec": spec}
        self.create("apps/v1", "DaemonSet", name, {"selector": {"matchLabels": labels}, "template": template})

    def workload(self, name: str, node: str, **spec: Any) -> None:
        """A workload with one pod that has RDMA; its pods find another node when this one is cordoned."""
        limits = {"limits": {RESOURCE: "1"}}
        own: Object = {"containers": [{"name": "c", "image": "none", "resources": limits}], **spec}
        own["nodeSelector"] = {"kubernetes.io/hostname": node}
        template = {"metadata": {"labels": {"app": name}}, "spec": own}
        self.create("apps/v1", "ReplicaSet", name, {"selector": {"matchLabels": {"app": name}}, "template": template})
        self.kubectl("wait", "pods", "-n", self.namespace, "-l", f"app={name}", "--for=create", "--timeout=60s")
        self.kubectl(
            *("wait", "pods", "-n", self.namespace, "-l", f"app={name}"),
            *("--for=jsonpath={.status.phase}=Running", "--timeout=60s"),
        )

    def create(self, api: str, kind: str, name: str, spec: Object) -> None:
        meta = {"name": name, "namespace": self.namespace}
        self.kubectl("create", "-f", "-", stdin={"apiVersion": api, "kind": kind, "metadata": meta, "spec": spec})

    def budget(self, name: str, app: str) -> None:
        """Allow no eviction of this workload."""
        spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": app}}}
        self.create("policy/v1", "PodDisruptionBudget", name, spec)
        seen = "--for=jsonpath={.status.currentHealthy}=1"
        self.kubectl("wait", "pdb", name, "-n", self.namespace, seen, "--timeout=60s")

    def offers(self, node: str, resource: str = RESOURCE) -> None:
        """Wait until the node offers it."""
        number = 100 if resource == "rdma.io/hca" else 63
        path = resource.replace(".", "\\.")
        self.kubectl("wait", "node", node, f"--for=jsonpath={{.status.allocatable.{path}}}={number}", "--timeout=60s")

    def label(self, node: str, **labels: str) -> None:
        given = (f"{node_labels.of_nodes(name)}={value}" for name, value in labels.items())
        self.kubectl("label", "node", node, "--overwrite", *given)

    def step(self, node: str, name: str, to: str = "dra", **options: Any) -> Object:
        strategy = registry.STRATEGIES[to]
        labels = {"off": dict.fromkeys(moves.others(strategy)), "on": {strategy.label: "v100"}}.get(name, {})
        every: Object = {"node": node, "step": name, "to": to, "labels": labels, "ours": OURS, "drivers": ["dra.net"]}
        if name == "on":
            every["status"] = SHOWS[to]
            every["counters"] = SHOWS[to]["resources"] if to == "inject" else {}
        return self._run(node_move, kubeconfig=self._kubeconfig, **{**every, "wait_timeout": 60, **options})

    def state(self, node: str, to: str = "dra") -> str:
        return moves.state(node_use.read(self.info()["nodes"][node]), registry.STRATEGIES[to])

    def info(self, **options: Any) -> Object:
        return self._run(node_move_info, kubeconfig=self._kubeconfig, ours=OURS, drivers=["dra.net"], **options)

    def node(self, name: str) -> Object:
        """What a move touches of a node, as the cluster has it."""
        item: Object = json.loads(self.kubectl("get", "node", name, "-o", "json"))
        return {
            "labels": {key: value for key, value in item["metadata"]["labels"].items() if key in OURS},
            "annotations": item["metadata"].get("annotations", {}).get(node_use.ANNOTATION),
            "unschedulable": item["spec"].get("unschedulable", False),
            "resources": [
                {key: value for key, value in item["status"][part].items() if "/" in key}
                for part in ("capacity", "allocatable")
            ],
        }


BEFORE: Object = {
    "labels": {PLUGIN: "v100"},
    "annotations": None,
    "unschedulable": False,
    "resources": [{RESOURCE: "63"}] * 2,
}
AFTER: Object = {"labels": {DRIVER: "v100"}, "annotations": None, "unschedulable": False, "resources": [{}, {}]}


def _slices(facts_of: Facts) -> Callable[[str], List[Object]]:
    return lambda node: resource_slices(placed_on(published(facts_of(node)), node))


@pytest.fixture(name="kubelets")
def make_kubelets(cluster: dynamic.DynamicClient, facts_of: Facts, cluster_set: ClusterSet) -> Iterator[Kubelets]:
    # Of earlier tests: where no kubelet is played, pods that are deleted stay.
    cluster_set.kubectl("delete", "pods", "--all", "--namespace=kube-system", "--force", "--grace-period=0")
    with Kubelets(cluster, NODES, PLUGINS, _slices(facts_of)) as playing:
        yield playing
    cluster_set.kubectl("delete", "resourceslices", "--all")


@pytest.fixture(name="moving")
def make_moving(
    cluster_set: ClusterSet, kubelets: Kubelets, run_module: Callable[..., Object], control_plane: Any
) -> Moving:
    found = Moving(cluster_set, run_module, str(control_plane.kubeconfig))
    found.daemon_sets()
    found.label("v100-01", **{"shared-device": "v100"})
    found.offers("v100-01")
    return found


def test_a_step_can_be_repeated_and_the_way_back_is_the_same(moving: Moving, kubelets: Kubelets) -> None:
    moving.workload("user", "v100-01")
    assert moving.state("v100-01") == moves.TODO
    off = moving.step("v100-01", "off")
    assert [name.partition("/")[2].partition("-")[0] for name in off["evicted"]] == ["user"]
    assert moving.state("v100-01") == moves.LEFT
    assert moving.step("v100-01", "off")["changed"] is False
    assert moving.step("v100-01", "on")["changed"] is True
    assert moving.state("v100-01") == moves.SWITCHED
    # As a run that goes on there: what came is not taken away again.
    assert moving.step("v100-01", "off")["changed"] is False
    assert moving.step("v100-01", "on")["changed"] is False
    moving.step("v100-01", "done")
    assert (moving.state("v100-01"), moving.node("v100-01")) == (moves.DONE, AFTER)
    for name in ("off", "on", "done"):
        moving.step("v100-01", name, to="shared_device")
    assert (moving.state("v100-01", to="shared_device"), moving.node("v100-01")) == (moves.DONE, BEFORE)
    assert kubelets.both == []


def test_the_documented_role_is_enough_and_all_of_it_is_asked_for(moving: Moving, cluster_set: ClusterSet) -> None:
    moving.workload("user", "v100-01")
    user = {"impersonate_user": "rights-migrate"}
    roles = documented(cluster_set.namespace, "zerocopy-migrate")
    with users(cluster_set, {"rights-migrate": roles}), asked_by(cluster_set, "rights-migrate") as asked:
        assert "v100-01" in moving.info(**user)["nodes"]
        for name in ("off", "on", "done"):
            done = moving.step("v100-01", name, **user)
            assert not done.get("failed"), done
            assert not done.get("warnings"), done
    assert idle(roles, asked) == []
    assert moving.node("v100-01") == AFTER


def test_a_budget_that_blocks_is_named_and_the_node_put_back(moving: Moving) -> None:
    moving.workload("user", "v100-01")
    moving.budget("keep", "user")
    said = moving.step("v100-01", "off", wait_timeout=3)["msg"]
    assert "The disruption budget keep needs 1 healthy pods and has 1 currently" in said
    assert said.startswith(f"v100-01: {moving.namespace}/user-")
    assert moving.state("v100-01") == moves.CORDONED
    assert moving.step("v100-01", "back")["changed"] is True
    assert moving.node("v100-01") == BEFORE
    assert moving.step("v100-01", "back")["changed"] is False


def test_a_node_goes_back_from_where_it_is_and_an_admins_cordon_stays(moving: Moving, kubelets: Kubelets) -> None:
    moving.kubectl("cordon", "v100-01")
    cordoned = {**BEFORE, "unschedulable": True}
    moving.step("v100-01", "off")
    moving.step("v100-01", "on")
    moving.step("v100-01", "back")
    moving.offers("v100-01")
    assert moving.node("v100-01") == cordoned
    for name in ("off", "on", "done"):
        moving.step("v100-01", name)
    assert moving.node("v100-01") == {**AFTER, "unschedulable": True}
    assert kubelets.both == []


@pytest.mark.parametrize("to", ["host_device", "inject"])
def test_to_every_other_strategy_and_back_from_the_middle(moving: Moving, kubelets: Kubelets, to: str) -> None:
    label = registry.STRATEGIES[to].label
    given = {key: str(value) for key, value in SHOWS[to]["resources"].items()}
    after = {**BEFORE, "labels": {label: "v100"}, "resources": [given] * 2}
    for name in ("off", "on", "done"):
        assert moving.step("v100-01", name, to=to).get("changed") is True
    assert (moving.state("v100-01", to=to), moving.node("v100-01")) == (moves.DONE, after)
    # Away from it again, but the new one does not come: it gets back what it had.
    assert moving.step("v100-01", "off").get("changed") is True
    assert label not in moving.node("v100-01")["labels"]
    said = moving.step("v100-01", "on", status={"pods": True, "resources": {"rdma/none": 1}}, wait_timeout=1)["msg"]
    assert "dra does not work yet" in said
    assert moving.step("v100-01", "back")["changed"] is True
    moving.offers("v100-01", *given)
    assert moving.node("v100-01") == after
    assert kubelets.both == []


def test_a_plugin_of_somebody_else_is_kept_away_and_comes_back(moving: Moving, kubelets: Kubelets) -> None:
    image = "ghcr.io/mellanox/k8s-rdma-shared-dev-plugin:v1.5.3"
    moving.daemon_set("theirs", THEIRS, image)
    moving.kubectl("label", "node", "v100-02", f"{THEIRS}=v100")
    moving.offers("v100-02")
    (named,) = moving.info()["plugins"]
    assert named == {
        "daemon_set": f"{moving.namespace}/theirs",
        "program": "k8s-rdma-shared-dev-plugin",
        "nodes": 1,
        "remove": f"kubectl delete daemonset theirs --namespace {moving.namespace}",
    }
    stays = moving.step("v100-02", "off", wait_timeout=1)["msg"]
    assert stays == f"v100-02: {moving.namespace}/theirs is still there (waited 1 s)"
    away = {**dict.fromkeys(moves.others(registry.STRATEGIES["dra"])), THEIRS: None}
    # Waits until the pods of the other's DaemonSet have gone from the node.
    moving.step("v100-02", "off", labels=away)
    moving.step("v100-02", "on")
    assert moving.state("v100-02") == moves.SWITCHED
    moving.step("v100-02", "back", labels=away)
    moving.offers("v100-02")
    assert moving.node("v100-02") == {**BEFORE, "labels": {}}
    moving.kubectl("label", "node", "v100-02", f"{THEIRS}-")
    assert kubelets.both == []


def test_a_node_does_not_choose_what_is_put_back(moving: Moving, cluster_set: ClusterSet) -> None:
    """Its kubelet's account may write annotations of its own Node, and most labels."""
    first, second = (accounts.node(cluster_set, name) for name in NODES)
    for label in (f"{DRIVER}=v100", f"{PLUGIN}-", f"{node_use.DIGEST}=0"):
        assert "is not allowed to modify labels" in first.refused("label", "node", NODES[0], "--overwrite", label)
    theirs = {DRIVER: "v100", "node-role.kubernetes.io/control-plane": "", THEIRS: "v100"}
    mark = node_use.Mark("dra", labels=theirs, counters={"rdma/other": 8, "example.org/gpu": 8}).written()

    def writes(account: accounts.Account, node: str, annotation: str) -> None:
        account("annotate", "node", node, "--overwrite", annotation)

    def fails(node: str, told: str) -> None:
        before = moving.node(node)
        said = f"{node}: annotation {node_use.ANNOTATION} is {told}"
        assert [text.startswith(said) for text in moving.info()["nodes"][node]["broken"]] == [True]
        for name in ("off", "on", "done", "back"):
            assert moving.step(node, name, wait_timeout=1)["msg"].startswith(said)
        assert moving.node(node) == before

    # No move has begun there.
    writes(second, NODES[1], f"{node_use.ANNOTATION}={mark}")
    fails(NODES[1], "'{")
    # That is said of this node alone, and a move of the other one begins.
    assert moving.step(NODES[0], "off")["changed"] is True
    begun = moving.node(NODES[0])
    writes(first, NODES[0], f"{node_use.ANNOTATION}={mark}")
    fails(NODES[0], "'{")
    writes(first, NODES[0], f"{node_use.ANNOTATION}-")
    fails(NODES[0], "missing")
    writes(first, NODES[0], f"{node_use.ANNOTATION}={begun['annotations']}")
    assert moving.step(NODES[0], "back")["changed"] is True
    moving.offers(NODES[0])
    assert moving.node(NODES[0]) == BEFORE
    # As the message says.
    cluster_set.kubectl("annotate", "node", NODES[1], f"{node_use.ANNOTATION}-")
    assert moving.state(NODES[1]) == moves.TODO


def test_pods_that_nobody_makes_again_are_awaited(moving: Moving) -> None:
    limits = {"limits": {RESOURCE: "1"}}
    spec = {"nodeName": "v100-01", "containers": [{"name": "c", "image": "none", "resources": limits}]}
    moving.create("v1", "Pod", "alone", spec)
    said = moving.step("v100-01", "off", wait_timeout=1)["msg"]
    assert said == f"v100-01: {moving.namespace}/alone: {RESOURCE}: has not ended (waited 1 s)"
    assert moving.step("v100-01", "off", evict="all")["evicted"] == [f"{moving.namespace}/alone"]


def _group(strategy: str) -> Dict[str, Any]:
    templates = [{"name": "v100-1nic", "nics": 1}] if strategy == "dra" else []
    return {"v100": {"rdma_strategy": strategy, "rdma_claims_templates": templates}}


def test_a_group_moves_and_what_no_node_needs_goes(
    cluster_set: ClusterSet, kubelets: Kubelets, playbook: Playbook, moving: Moving
) -> None:
    """The playbook as users run it. The nodes are recordings, which are not prepared or verified here."""
    # With sets of their own; all hosts would take four times as long.
    own: Dict[str, Any] = {"rdma_claims_namespaces": [cluster_set.namespace], "rdma_hosts": "v100"}
    options: Dict[str, Any] = {"name": "migrate.yml", "groups": _group("dra"), "rdma_migrate_timeout": 60, **own}
    skipped = "--skip-tags=prepare,host"

    def there() -> List[str]:
        names = cluster_set.kubectl("get", "daemonsets", "-n", "kube-system", "-o", "name").split()
        return sorted(name for name in names if "v100" in name)

    def labels() -> List[Object]:
        return [moving.node(name)["labels"] for name in NODES]

    playbook(groups=_group("shared_device"), **own)
    moving.workload("user", "v100-01")
    before = moving.node("v100-01")
    tried = {"rdma_verify_image": "example.org/none:v1", "rdma_verify_namespace": cluster_set.namespace}
    # The new way has come, and a pod ran on the cordoned node, but failed.
    said = playbook.refused(skipped, rdma_migrate_move="v100-01", **{**options, **tried})
    assert (
        "v100-01 was not moved to dra: 'Fail if a pod does not get what it requests' failed: the pod did not finish"
        in said
    )
    assert "It was put back as it was." in said
    moving.offers("v100-01")
    assert moving.node("v100-01") == before

    # First one node: the move of the other one was killed when it had begun, and the node has changed the mark of it.
    moving.step("v100-02", "off")
    written, account = moving.node("v100-02")["annotations"], accounts.node(cluster_set, "v100-02")
    account("annotate", "node", "v100-02", "--overwrite", f"{node_use.ANNOTATION}={written}\n")
    said = playbook.refused(skipped, rdma_migrate_move="v100", **options)
    assert said.startswith("This node was not changed. Fix this first:\nv100-02: annotation zerocopy.rdma/move is '{")
    account("annotate", "node", "v100-02", "--overwrite", f"{node_use.ANNOTATION}={written}")
    assert labels() == [{DRIVER: "v100"}, {}]
    assert there() == ["daemonset.apps/dranet-v100", "daemonset.apps/rdma-shared-v100"]
    done = playbook(skipped, rdma_migrate_move="v100", **options)
    assert "  v100-02: none to dra (begun: left)" in done["Show the plan of the move"]["msg"]
    assert (labels(), there()) == ([{DRIVER: "v100"}] * 2, ["daemonset.apps/dranet-v100"])
    assert [moving.node(name)["unschedulable"] for name in NODES] == [False, False]
    assert kubelets.both == []

    # And back by the same playbook.
    done = playbook(skipped, rdma_migrate_move="v100", **{**options, "groups": _group("shared_device")})
    assert "  v100-02: dra to shared_device" in done["Show the plan of the move"]["msg"]
    assert (labels(), there()) == ([{PLUGIN: "v100"}] * 2, ["daemonset.apps/rdma-shared-v100"])
    assert [moving.node(name) for name in NODES] == [BEFORE, BEFORE]
    assert kubelets.both == []


_PUT_BACK = """
- hosts: v100-01
  gather_facts: false
  vars:
    __move: {ours: [%s], resources: [], gpu_resources: []}
    __node: {was: inject, to: dra, daemons: true, 'off': {}}
    __rdma_migrate_netns: shared
  tasks:
    - ansible.builtin.import_role: {name: zerocopy.rdma.rdma_kernel, tasks_from: modules}
      vars: {rdma_kernel_netns_mode: exclusive}
    - ansible.builtin.import_role: {name: zerocopy.rdma.rdma_runtime, tasks_from: daemons}
    - ansible.builtin.include_role: {name: zerocopy.rdma.rdma_migrate, tasks_from: move_back}
"""


def test_a_node_gets_its_netns_mode_and_plugin_back(
    moving: Moving, playbook: Playbook, nodes: Path, tmp_path: Path
) -> None:
    """What a failed move does last, after it prepared the node for its new strategy; the node is a recording."""
    node = tmp_path / "node"
    shutil.copytree(nodes / "v100-01", node, symlinks=True)

    def prepared() -> Dict[str, str]:
        written = [
            *node.glob("etc/modprobe.d/*"),
            *node.glob("etc/zerocopy-rdma/*.json"),
            *node.glob("etc/systemd/**/*"),
        ]
        return {str(path.relative_to(node)): path.read_text() for path in written if path.is_file()}

    def play(tasks: str) -> Path:
        file = tmp_path / "play.yml"
        file.write_text(tasks % ", ".join(OURS))
        return file

    setup = _PUT_BACK.partition("    - ansible.builtin.include_role")[0].replace("exclusive", "shared")
    given: Object = {"groups": _group("dra"), "rdma_discover_root": str(node)}
    playbook(name=str(play(setup)), rdma_strategy="inject", **given)
    before = prepared()
    assert any("inject.json" in name for name in before)
    moving.step("v100-01", "off")
    playbook(name=str(play(_PUT_BACK)), **given)
    assert (prepared(), moving.node("v100-01")["labels"]) == (before, {PLUGIN: "v100"})
    assert moving.node("v100-01")["unschedulable"] is False
