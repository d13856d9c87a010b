# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What the strategies host_device and sriov have in a cluster, and what kubelets and pods would add to it."""

from __future__ import annotations

import json
from typing import Any, Dict, List, Set

from ansible_collections.zerocopy.rdma.tests.cluster.cluster_set import ClusterSet, Object, pod_spec

LABEL = "zerocopy.rdma.node-restriction.kubernetes.io/host-device"
# That of the resources of the SR-IOV operator, unless its chart is given another one.
OPERATOR_PREFIX = "openshift.io"


def there(cluster_set: ClusterSet) -> Set[str]:
    listed = cluster_set.kubectl("get", "daemonsets,configmaps,secrets", "-n", "kube-system", "-o", "name").split()
    listed += cluster_set.kubectl("get", "customresourcedefinitions,clusterroles", "-o", "name").split()
    parts = ("rdma-nics", "rdma-multus", "rdma-whereabouts", "host-device", "cni.cncf.io")
    return {name for name in listed if any(part in name for part in parts)}


def labels(cluster_set: ClusterSet) -> Dict[str, str]:
    items = json.loads(cluster_set.kubectl("get", "nodes", "-o", "json"))["items"]
    return {item["metadata"]["name"]: item["metadata"]["labels"].get(LABEL, "") for item in items}


def offer(cluster_set: ClusterSet, node: str, resource: str, number: str) -> None:
    """What a kubelet would write."""
    patch = json.dumps({"status": {"capacity": {resource: number}, "allocatable": {resource: number}}})
    cluster_set.kubectl("patch", "node", node, "--subresource=status", "--type=merge", "-p", patch)


def verdicts(report: Object, kind: str) -> List[Any]:
    found = [check for check in report["checks"] if check["id"] == kind]
    return sorted((check["host"] or "", check["subject"], check["verdict"]) for check in found)


def pod(namespace: str, network: str) -> Object:
    """It asks for a NIC of this network."""
    annotations = {"k8s.v1.cni.cncf.io/networks": network}
    meta = {"name": "training", "namespace": namespace, "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": pod_spec()}


def operated(pods: str, operator: str) -> Dict[str, Any]:
    """Variables of a group whose VFs the SR-IOV operator in namespace ``operator`` gives to pods in ``pods``."""
    return {
        "rdma_strategy": "sriov",
        "rdma_claims_templates": [],
        "rdma_claims_claims": [],
        "rdma_host_device_provider": "sriov_operator",
        "rdma_operator_sriov_namespace": operator,
        "rdma_host_device_prefix": OPERATOR_PREFIX,
        "rdma_host_device_networks": ["10.110.0.0/24"],
        "rdma_host_device_namespaces": [pods],
    }
