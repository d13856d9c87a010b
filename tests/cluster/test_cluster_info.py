# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""cluster_info on a real API server."""

from __future__ import annotations

from typing import Any, Callable, Dict

from ansible_collections.zerocopy.rdma.plugins.modules import cluster_info
from ansible_collections.zerocopy.rdma.tests.cluster.cluster_set import ClusterSet, hold


def _node(number: int) -> Dict[str, Any]:
    labels = {"zerocopy.rdma.node-restriction.kubernetes.io/group": f"group-{number}"}
    spec = {"podCIDR": f"10.244.{number}.0/24", "podCIDRs": [f"10.244.{number}.0/24"]}
    metadata = {"name": f"ranges-{number}", "labels": labels}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec}


def test_networks_and_nodes(cluster_set: ClusterSet, run_module: Callable[..., Any], control_plane: Any) -> None:
    nodes = [_node(number) for number in range(2)]
    cluster_set.kubectl("create", "-f", "-", stdin={"apiVersion": "v1", "kind": "List", "items": nodes})
    found = run_module(cluster_info, kubeconfig=str(control_plane.kubeconfig), resource_api=True)
    cluster_set.kubectl("delete", "nodes", *(node["metadata"]["name"] for node in nodes))
    assert found["networks"] == {"pods": ["10.244.0.0/23"], "services": ["10.96.0.0/16"]}
    assert found["api_version"] == "resource.k8s.io/v1"
    assert found["nodes"]["ranges-1"]["zerocopy.rdma.node-restriction.kubernetes.io/group"] == "group-1"
    assert (found["changed"], found["administrator"]) == (False, True)


def test_a_cluster_without_nodes(start_control_plane: Callable[[str], Any], run_module: Callable[..., Any]) -> None:
    """The list of their metadata has null for its items then."""
    away = {"drivers": [], "devices": [], "left_out": {}, "may_hide_nics": False, "wait": []}
    options = {"resource_api": True, "published": {"expected": {"away-1": away}}}
    found = run_module(cluster_info, kubeconfig=str(start_control_plane("v1").kubeconfig), **options)
    assert found["nodes"] == {}
    assert found["published"]["nodes"]["away-1"]["exists"] is False


def test_apis_alone_take_two_requests(
    cluster_set: ClusterSet, run_module: Callable[..., Any], control_plane: Any
) -> None:
    with cluster_set.requests() as requests:
        asked = {"kubeconfig": str(control_plane.kubeconfig), "resource_api": True, "api_only": True}
        found = run_module(cluster_info, **asked)
    assert (found["api_version"], "nodes" in found) == ("resource.k8s.io/v1", False)
    assert [path.partition("?")[0] for _verb, path in requests] == ["/version", "/apis"]


def test_pods_that_hold_devices(cluster_set: ClusterSet, run_module: Callable[..., Any], control_plane: Any) -> None:
    free = hold(cluster_set, "ranges-1")
    found = run_module(cluster_info, kubeconfig=str(control_plane.kubeconfig))
    free()
    assert found["held"]["dra.net"]["ranges-1"] == ["default/worker-0"]
