# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""A group whose pods get NICs by Multus, on a real API server, and which leaves without leaving anything behind."""

from __future__ import annotations

import json
from typing import Any, Dict, List, Set

from ansible_collections.zerocopy.rdma.tests.cluster.cluster_set import ClusterSet, Object, actions, pod_spec
from ansible_collections.zerocopy.rdma.tests.cluster.provision import Playbook, make_set_of_inventory

# A fixture that is defined elsewhere.
__all__ = ["make_set_of_inventory"]

LABEL = "zerocopy.rdma/host-device"
APPLIED, RESOURCE = "Apply the objects of NICs", "rdma/hostdev_v100"
PROGRAMS = {f"daemonset.apps/{name}" for name in ("rdma-nics-v100", "rdma-multus", "rdma-whereabouts")}
DEFINITIONS = {
    f"customresourcedefinition.apiextensions.k8s.io/{name}"
    for name in (
        "ippools.whereabouts.cni.cncf.io",
        "network-attachment-definitions.k8s.cni.cncf.io",
        "overlappingrangeipreservations.whereabouts.cni.cncf.io",
    )
}


def group(strategy: str, namespace: str) -> Dict[str, Any]:
    own = {
        "rdma_strategy": strategy,
        "rdma_claims_templates": [],
        "rdma_host_device_networks": ["10.110.0.0/24"],
        "rdma_host_device_namespaces": [namespace],
    }
    return {"v100": own}


def there(cluster_set: ClusterSet) -> Set[str]:
    listed = cluster_set.kubectl("get", "daemonsets,configmaps,secrets", "-n", "kube-system", "-o", "name").split()
    listed += cluster_set.kubectl("get", "customresourcedefinitions,clusterroles", "-o", "name").split()
    parts = ("rdma-nics", "rdma-multus", "rdma-whereabouts", "host-device", "cni.cncf.io")
    return {name for name in listed if any(part in name for part in parts)}


def labels(cluster_set: ClusterSet) -> Dict[str, str]:
    items = json.loads(cluster_set.kubectl("get", "nodes", "-o", "json"))["items"]
    return {item["metadata"]["name"]: item["metadata"]["labels"].get(LABEL, "") for item in items}


def offer(cluster_set: ClusterSet, node: str, number: str) -> None:
    """What a kubelet would write."""
    resources = {RESOURCE: number}
    patch = json.dumps({"status": {"capacity": resources, "allocatable": resources}})
    cluster_set.kubectl("patch", "node", node, "--subresource=status", "--type=merge", "-p", patch)


def verdicts(report: Object, kind: str) -> List[Any]:
    found = [check for check in report["checks"] if check["id"] == kind]
    return sorted((check["host"] or "", check["subject"], check["verdict"]) for check in found)


def pod(namespace: str) -> Object:
    """It asks for the group's NIC."""
    annotations = {"k8s.v1.cni.cncf.io/networks": "rdma-v100"}
    meta = {"name": "training", "namespace": namespace, "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": pod_spec()}


def pool(held: bool) -> Object:
    """What whereabouts makes for the first pod, and keeps after the last one."""
    allocations = {"1": {"id": "0123", "podref": "other/training", "ifname": "net1"}} if held else {}
    return {
        "apiVersion": "whereabouts.cni.cncf.io/v1alpha1",
        "kind": "IPPool",
        "metadata": {"name": "10.110.0.0-24", "namespace": "kube-system"},
        "spec": {"range": "10.110.0.0/24", "allocations": allocations},
    }


def test_a_group_gets_nics_and_leaves(cluster_set: ClusterSet, playbook: Playbook) -> None:
    namespace = cluster_set.namespace
    own: Dict[str, Any] = {"rdma_claims_namespaces": [namespace]}
    wanted, gone = group("host_device", namespace), group("none", namespace)
    predicted = playbook("--check", "--diff", groups=wanted, **own)
    # Validated by the API server, strictly, and kept by nobody.
    assert there(cluster_set) == set()
    done = playbook("--diff", groups=wanted, **own)
    assert actions(done[APPLIED]) == actions(predicted[APPLIED])
    assert there(cluster_set) == {
        *PROGRAMS,
        *DEFINITIONS,
        "clusterrole.rbac.authorization.k8s.io/rdma-multus",
        "clusterrole.rbac.authorization.k8s.io/rdma-whereabouts",
        "configmap/rdma-nics-v100",
        "configmap/rdma-whereabouts",
        "secret/zerocopy-rdma-host-device",
    }
    network = cluster_set.get("network-attachment-definitions", "rdma-v100")
    assert json.loads(network["spec"]["config"])["ipam"]["range"] == "10.110.0.0/24"
    assert {name for name, value in labels(cluster_set).items() if value == "v100"} == {"v100-01", "v100-02"}
    again = playbook(groups=wanted, **own)
    assert not again[APPLIED]["changed"]
    assert not again["Label the nodes with their plugin of NICs"]["changed"]

    cluster_set.kubectl("create", "-f", "-", stdin=pod(namespace))
    before = there(cluster_set)
    said = playbook.refused(groups=gone, **own)
    assert f"asked for by Pod {namespace}/training" in said
    assert there(cluster_set) == before
    assert set(labels(cluster_set).values()) == {"", "v100"}

    cluster_set.kubectl("delete", "pod", "training", "-n", namespace, "--force")
    cluster_set.kubectl("create", "-f", "-", stdin=pool(held=False))
    pruned = playbook(groups=gone, **own)
    assert set(actions(pruned[APPLIED]).values()) == {"pruned"}
    assert there(cluster_set) == set()
    assert set(labels(cluster_set).values()) == {""}
    assert not playbook(groups=gone, **own)[APPLIED]["changed"]


def test_addresses_that_are_in_use_are_not_forgotten(cluster_set: ClusterSet, playbook: Playbook) -> None:
    """Of a pool that somebody still has an address of, the definition stays."""
    namespace = cluster_set.namespace
    playbook(groups=group("host_device", namespace))
    cluster_set.kubectl("create", "-f", "-", stdin=pool(held=True))
    left = playbook(groups=group("none", namespace))
    kept = {name for name, action in actions(left[APPLIED]).items() if action == "kept"}
    assert kept == {"CustomResourceDefinition ippools.whereabouts.cni.cncf.io"}
    cluster_set.kubectl("delete", "ippools", "10.110.0.0-24", "-n", "kube-system")
    playbook(groups=group("none", namespace))
    assert there(cluster_set) == set()


def test_verify_looks_at_programs_and_resources(cluster_set: ClusterSet, playbook: Playbook) -> None:
    namespace = cluster_set.namespace
    own: Dict[str, Any] = {"rdma_claims_namespaces": [namespace]}
    wanted = group("host_device", namespace)
    playbook(groups=wanted, **own)
    offer(cluster_set, "v100-01", "2")
    # Bonds and the like, as a plugin of somebody else counts them.
    offer(cluster_set, "v100-02", "4")
    _said, report = playbook.verified("--tags=cluster", groups=wanted, **own)
    assert verdicts(report, "cluster.resources") == [("v100-01", RESOURCE, "pass"), ("v100-02", RESOURCE, "fail")]
    # No kubelet starts their pods.
    assert verdicts(report, "cluster.plugin") == [
        ("", f"kube-system/{name}", "fail") for name in ("rdma-multus", "rdma-nics-v100", "rdma-whereabouts")
    ]
    assert ("", "host_device", "pass") in verdicts(report, "cluster.objects")
