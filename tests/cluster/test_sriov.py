# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""A group whose pods get VFs, on a real API server: it comes, is verified, and goes to whole NICs."""

from __future__ import annotations

import json
from typing import Any, Dict

from ansible_collections.zerocopy.rdma.tests.cluster.cluster_set import ClusterSet, actions
from ansible_collections.zerocopy.rdma.tests.cluster.host_devices import labels, offer, pod, there, verdicts
from ansible_collections.zerocopy.rdma.tests.cluster.provision import Playbook, make_set_of_inventory

# A fixture that is defined elsewhere.
__all__ = ["make_set_of_inventory"]

# The group that the test is about, and a node of another one.
FLEET = ("lab-01", "lab-02", "h100-01")
APPLIED, RESOURCE = "Apply the objects (host_device)", "rdma/sriov_lab"


def group(strategy: str, namespace: str, **more: Any) -> Dict[str, Any]:
    own = {
        "rdma_strategy": strategy,
        "rdma_claims_templates": [],
        "rdma_claims_claims": [],
        "rdma_host_device_networks": ["10.110.0.0/24"],
        "rdma_host_device_namespaces": [namespace],
        **more,
    }
    return {"lab": own}


def capacity(cluster_set: ClusterSet, node: str) -> Dict[str, str]:
    found = json.loads(cluster_set.kubectl("get", "node", node, "-o", "json"))["status"].get("capacity") or {}
    return {name: number for name, number in found.items() if name.startswith("rdma/")}


def test_a_group_gets_vfs_and_then_whole_nics(cluster_set: ClusterSet, playbook: Playbook) -> None:
    playbook, namespace = playbook.of(*FLEET), cluster_set.namespace
    own: Dict[str, Any] = {"rdma_claims_namespaces": [namespace]}
    vfs, nics = group("sriov", namespace, rdma_links_vfs=8), group("host_device", namespace)
    playbook(groups=vfs, **own)
    assert {name for name, value in labels(cluster_set).items() if value} == {"lab-01", "lab-02"}
    network = cluster_set.get("network-attachment-definitions", "sriov-lab")
    assert network["metadata"]["annotations"]["k8s.v1.cni.cncf.io/resourceName"] == RESOURCE
    listed = json.loads(cluster_set.kubectl("get", "daemonsets", "-n", "kube-system", "-o", "json"))["items"]
    plugins = [item for item in listed if item["metadata"]["name"].startswith("rdma-nics-lab")]
    assert plugins
    for item in plugins:
        (wait,) = item["spec"]["template"]["spec"]["initContainers"]
        assert wait["command"][-1].endswith("=8")

    offer(cluster_set, "lab-01", RESOURCE, "8")
    # Its plugin started before all VFs were there.
    offer(cluster_set, "lab-02", RESOURCE, "3")
    _said, report = playbook.verified("--tags=cluster", groups=vfs, **own)
    assert verdicts(report, "cluster.resources") == [("lab-01", RESOURCE, "pass"), ("lab-02", RESOURCE, "fail")]
    assert ("", "zerocopy-rdma-host-device", "pass") in verdicts(report, "cluster.objects")

    # To whole NICs only without pods that have VFs, and nothing of these stays in the status of nodes.
    for name in ("lab-01", "lab-02"):
        offer(cluster_set, name, RESOURCE, "0")
    cluster_set.kubectl("create", "-f", "-", stdin=pod(namespace, "sriov-lab"))
    before = there(cluster_set)
    assert f"requested by Pod {namespace}/training" in playbook.refused(groups=nics, **own)
    assert there(cluster_set) == before
    assert capacity(cluster_set, "lab-01") == {RESOURCE: "0"}
    cluster_set.kubectl("delete", "pod", "training", "-n", namespace, "--force")
    changed = actions(playbook(groups=nics, **own)[APPLIED])
    assert changed[f"NetworkAttachmentDefinition {namespace}/sriov-lab"] == "pruned"
    assert changed[f"NetworkAttachmentDefinition {namespace}/rdma-lab"] == "created"
    assert capacity(cluster_set, "lab-01") == {}
