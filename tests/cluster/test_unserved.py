# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Hosts that provision cannot serve, on a real API server: only they fail, and nothing goes because of them."""

from __future__ import annotations

import json
from typing import Any, Callable, Dict, Iterator, Set, Tuple

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube import counters
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import NO_NODE, no_node
from ansible_collections.zerocopy.rdma.tests.cluster.claims_cluster import node, placed_on
from ansible_collections.zerocopy.rdma.tests.cluster.cluster_set import ClusterSet, pod_spec, reasons, workload
from ansible_collections.zerocopy.rdma.tests.cluster.provision import Playbook, make_set_of_inventory
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.claims_plan import Facts, published
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.resource_slices import resource_slices

# A fixture that is defined elsewhere.
__all__ = ["make_set_of_inventory"]

# A group that most tests are about, and a node of another one.
FLEET = ("v100-01", "v100-02", "h100-01")
LABELS = {
    "dra": "zerocopy.rdma.node-restriction.kubernetes.io/group",
    "shared_device": "zerocopy.rdma.node-restriction.kubernetes.io/shared-device",
    "inject": "zerocopy.rdma.node-restriction.kubernetes.io/inject",
}


@pytest.fixture
def leave(cluster_set: ClusterSet) -> Iterator[Callable[[str], None]]:
    """Takes nodes out of the cluster, which are back at the end."""
    gone: Set[str] = set()

    def call(name: str) -> None:
        cluster_set.kubectl("delete", "node", name)
        gone.add(name)

    yield call
    for name in gone:
        cluster_set.kubectl("apply", "-f", "-", stdin=node(name))


def labels(cluster_set: ClusterSet, label: str) -> Dict[str, str]:
    items = [item["metadata"] for item in json.loads(cluster_set.kubectl("get", "nodes", "-o", "json"))["items"]]
    return {item["name"]: item["labels"][label] for item in items if label in item["labels"]}


def there(cluster_set: ClusterSet) -> Set[str]:
    """DaemonSets, and templates by their aliases."""
    sets = cluster_set.kubectl("get", "daemonsets", "-n", "kube-system", "-o", "name").split()
    made = cluster_set.kubectl("get", "resourceclaimtemplates", "-n", cluster_set.namespace, "-o", "json")
    return {*sets, *(item["metadata"]["labels"]["zerocopy.rdma/alias"] for item in json.loads(made)["items"])}


def test_hosts_that_are_no_nodes_stop_no_others(
    cluster_set: ClusterSet, playbook: Playbook, leave: Callable[[str], None]
) -> None:
    groups = {"dra": "v100", "shared_device": "a100", "inject": "h100"}
    first, second = (tuple(f"{group}-0{number}" for group in groups.values()) for number in (1, 2))
    playbook = playbook.of(*first, *second, "lab-01")
    own: Dict[str, Any] = {
        "rdma_claims_namespaces": [cluster_set.namespace],
        "groups": {
            group: {"rdma_strategy": strategy, "rdma_claims_templates": []}
            for strategy, group in groups.items()
            if strategy != "dra"
        },
    }

    def labelled() -> Dict[str, Dict[str, str]]:
        return {strategy: labels(cluster_set, LABELS[strategy]) for strategy in groups}

    for name in second:
        leave(name)
    predicted, _results = playbook.partly("--check", **own)
    assert labelled() == {"dra": {}, "shared_device": {}, "inject": {}}
    said, _results = playbook.partly(**own)
    assert said == predicted == {name: no_node(name) for name in second}
    served = {
        "dra": {"v100-01": "v100", "lab-01": "lab"},
        "shared_device": {"a100-01": "a100"},
        "inject": {"h100-01": "h100"},
    }
    assert labelled() == served
    before = there(cluster_set)
    assert "v100-1nic" in before

    # Without any node of these groups, what is there for them stays.
    for name in first:
        leave(name)
    said, results = playbook.partly(**own)
    assert set(said) == {*first, *second}
    assert there(cluster_set) == before
    assert not results["Apply the claims (dra)"]["changed"]

    for name in (*first, *second):
        cluster_set.kubectl("apply", "-f", "-", stdin=node(name))
    playbook(**own)
    both = {strategy: {f"{group}-01": group, f"{group}-02": group} for strategy, group in groups.items()}
    assert labelled() == {**both, "dra": {**both["dra"], "lab-01": "lab"}}


def test_a_host_whose_counters_cannot_be_read_stops_no_other(cluster_set: ClusterSet, playbook: Playbook) -> None:
    playbook = playbook.of("v100-01", "v100-02")
    own: Dict[str, Any] = {"groups": {"v100": {"rdma_strategy": "inject", "rdma_claims_templates": []}}}
    cluster_set.kubectl("annotate", "node", "v100-02", f"{counters.ANNOTATION}=100")
    before = cluster_set.kubectl("get", "node", "v100-02", "--output=json")
    predicted, _results = playbook.partly("--check", **own)
    said, _results = playbook.partly(**own)
    assert said == predicted
    assert list(said) == ["v100-02"]
    assert f"kubectl annotate node v100-02 {counters.ANNOTATION}-" in said["v100-02"]
    assert labels(cluster_set, LABELS["inject"]) == {"v100-01": "v100"}
    assert cluster_set.kubectl("get", "node", "v100-02", "--output=json") == before

    # Teardown stops for it before it changes anything.
    stopped = playbook.refused(name="teardown.yml", **own)
    assert stopped == said["v100-02"]
    assert labels(cluster_set, LABELS["inject"]) == {"v100-01": "v100"}
    cluster_set.kubectl("annotate", "node", "v100-02", f"{counters.ANNOTATION}-")
    playbook(**own)
    assert labels(cluster_set, LABELS["inject"]) == {"v100-01": "v100", "v100-02": "v100"}


def test_a_fleet_that_has_not_joined_yet(
    cluster_set: ClusterSet, playbook: Playbook, leave: Callable[[str], None]
) -> None:
    playbook = playbook.of(*FLEET)
    for name in FLEET:
        leave(name)
    said, _results = playbook.partly(rdma_claims_namespaces=[cluster_set.namespace])
    assert set(said) == set(FLEET)
    assert all(NO_NODE in text for text in said.values())
    # Nodes that join later only lack their labels.
    assert there(cluster_set) >= {"daemonset.apps/dranet-v100", "daemonset.apps/dranet-h100", "v100-1nic", "h100-1nic"}


def test_a_node_that_publishes_no_nic_stops_no_other(
    cluster_set: ClusterSet, playbook: Playbook, facts_of: Facts
) -> None:
    playbook = playbook.of(*FLEET)
    own: Dict[str, Any] = {"rdma_claims_namespaces": [cluster_set.namespace], "rdma_claims_wait_timeout": 1}
    # No kubelet starts the pods of the drivers, so nobody waits for them.
    playbook(**own)
    devices = [one for name in ("v100-01", "h100-01") for one in placed_on(published(facts_of(name)), name)]
    items = resource_slices(devices)
    cluster_set.kubectl("create", "-f", "-", stdin={"apiVersion": "v1", "kind": "List", "items": items})
    before = there(cluster_set)
    said, _results = playbook.partly("--tags", "claims", rdma_wait=True, **own)
    cluster_set.kubectl("delete", "resourceslices", *(item["metadata"]["name"] for item in items))
    assert list(said) == ["v100-02"]
    assert said["v100-02"].startswith("v100-02: no pod can claim its NICs: DRANET publishes nothing there: ")
    assert there(cluster_set) == before


def test_nodes_on_which_a_daemon_set_is_not_ready(cluster_set: ClusterSet) -> None:
    names = sorted(FLEET)
    terms = [{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": names}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    spec = {**pod_spec(), "affinity": {"nodeAffinity": required}}
    wanted = [workload("DaemonSet", "driver", cluster_set.namespace, spec)]
    key = f"DaemonSet {cluster_set.namespace}/driver"
    # No kubelet starts its pods.
    failed = cluster_set(objects=wanted, wait=True, wait_timeout=5)
    assert f"\n{key}: 0 of {len(names)} pods available" in failed["msg"]
    pods = json.loads(cluster_set.kubectl("get", "pods", "-n", cluster_set.namespace, "-o", "json"))["items"]
    of_node = {pod["spec"]["nodeName"]: pod["metadata"]["name"] for pod in pods}
    condition = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    status = {"status": {"phase": "Running", "conditions": [condition]}}
    cluster_set.patch("pod", of_node["h100-01"], status, subresource="status")
    found = cluster_set(objects=wanted, wait=True, wait_timeout=5, unready_nodes="report")
    text = f"{key}: its pod is Pending, and not ready"
    assert found["unready"] == {name: [text] for name in names if name != "h100-01"}
    assert found["changed"] is False


def test_nothing_is_pruned_while_a_host_is_unknown(cluster_set: ClusterSet, playbook: Playbook) -> None:
    playbook = playbook.of(*FLEET)
    own: Dict[str, Any] = {"rdma_claims_namespaces": [cluster_set.namespace]}
    playbook(**own)
    before = there(cluster_set)
    left = {"v100": {"rdma_claims_templates": [{"name": "v100-1nic", "nics": 1}]}}
    said, results = playbook.without("v100-02").partly(groups=left, **own)
    assert said == {"v100-02": ""}
    assert set(reasons(results["Apply the claims (dra)"]).values()) == {"prune is off"}
    assert there(cluster_set) == before
    # By now it is there again.
    playbook(groups=left, **own)
    assert before - there(cluster_set) == {"v100-2gpu-1nic"}


def test_a_host_that_is_unknown_keeps_its_protection(cluster_set: ClusterSet, playbook: Playbook) -> None:
    # The first has a bond, at an address where the other one has no NIC, and both share a filter.
    playbook = playbook.of("a100-01", "v100-01")
    own: Dict[str, Any] = {
        "rdma_claims_namespaces": [cluster_set.namespace],
        "rdma_group": "gpu",
        "groups": {"a100": {"rdma_claims_templates": []}},
    }
    alone, apply = playbook.without("a100-01"), "Apply the objects (dra)"

    def seen() -> Tuple[str, str]:
        """The label of the host, and the spec of the driver."""
        group = r"{.metadata.labels.zerocopy\.rdma\.node-restriction\.kubernetes\.io/group}"
        label = ("get", "node", "a100-01", f"--output=jsonpath={group}")
        spec = ("get", "daemonset", "dranet-gpu", "-n", "kube-system", "--output=jsonpath={.spec.template.spec}")
        return cluster_set.kubectl(*label), cluster_set.kubectl(*spec)

    # A node of which nothing is known gets no driver.
    alone.partly(**own)
    first = seen()
    assert first[0] == ""
    playbook(**own)
    whole = seen()
    assert whole[0] == "gpu"
    assert whole[1] != first[1]
    for options in (("--check",), ()):
        said, results = alone.partly(*options, **own)
        assert said == {"a100-01": ""}
        assert results[apply]["changed"] is False
        assert "a100-01: no facts, so the NICs that these nodes need are unknown" in str(
            results["Show what pods can claim"]["msg"]
        )
    assert seen() == whole
    # Nor does a driver come back to a node that only has the label.
    cluster_set(name="zerocopy-rdma-driver", namespace="kube-system", state="absent")
    assert (
        "zerocopy.rdma.node-restriction.kubernetes.io/group is 'gpu', but this group has no driver yet"
        in alone.refused(**own)
    )
