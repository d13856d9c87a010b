# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What the API server says of the cluster's networks and versions. The real one is in tests/cluster."""

from __future__ import annotations

from typing import Any, Dict, List

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._plan import prepare
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision import cluster
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.discovery import Api
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ApiError, ClusterError

_RANGES = {
    "resource": "servicecidrs",
    "responseKind": {"kind": "ServiceCIDR"},
    "scope": "Cluster",
    "verbs": ["list"],
}


def _api(*resources: Dict[str, Any]) -> Api:
    """Synthesised in the form of apidiscovery.k8s.io/v2."""
    versions = [{"version": "v1", "resources": list(resources)}]
    item = {"metadata": {"name": "networking.k8s.io"}, "versions": versions}
    return Api([{"kind": "APIGroupDiscoveryList", "items": [item]}])


class Answers:
    """The lists of an API server, synthesised in the form of v1 and networking.k8s.io/v1."""

    def __init__(self, lists: Dict[str, List[Dict[str, Any]]]) -> None:
        self._lists = lists

    def get(self, path: str) -> Dict[str, Any]:
        if path not in self._lists:
            raise ApiError(403, {"message": "forbidden"})
        return {"items": self._lists[path]}


def node(name: str, kubelet: str = "v1.36.3", **spec: Any) -> Dict[str, Any]:
    return {"metadata": {"name": name}, "spec": spec, "status": {"nodeInfo": {"kubeletVersion": kubelet}}}


def networks(nodes: List[Dict[str, Any]], *ranges: str) -> Dict[str, List[str]]:
    lists = {"/api/v1/nodes": nodes, "/apis/networking.k8s.io/v1/servicecidrs": [{"spec": {"cidrs": list(ranges)}}]}
    client: Any = Answers(lists)
    return cluster.networks(client, _api(_RANGES))


def test_networks_of_pods_and_services() -> None:
    nodes = [node(f"n{number}", podCIDRs=[f"10.42.{number}.0/24", f"fd42:{number}::/64"]) for number in range(4)]
    found = networks([*nodes, node("bare"), node("old", podCIDR="10.50.0.0/24")], "10.43.0.0/16", "fd43::/112")
    assert found["pods"][:2] == ["10.42.0.0/22", "10.50.0.0/24"]
    assert len(found["pods"]) == 6
    assert found["services"] == ["10.43.0.0/16", "fd43::/112"]


def test_what_is_not_told_is_not_known() -> None:
    client: Any = Answers({})
    assert cluster.networks(client, _api(_RANGES)) == {"pods": [], "services": []}
    assert cluster.networks(client, _api()) == {"pods": [], "services": []}


@pytest.mark.parametrize("version", ["v1.34.0", "v1.34.1", "v1.34.1+k3s1", "v1.34.0-gke.1662000"])
def test_releases_without_registration(version: str) -> None:
    with pytest.raises(ClusterError, match=r"it must be 1\.34\.2 or newer") as refused:
        cluster.refuse_broken({"gitVersion": version})
    assert version in str(refused.value)
    with pytest.raises(
        ClusterError, match=r"the kubelet is Kubernetes .* on n\[1-2\], in which DRA drivers do not stay"
    ):
        networks([node("n1", version), node("n2", version), node("n3")])


@pytest.mark.parametrize("version", ["v1.34.2", "v1.34.10", "v1.34.12+rke2r1", "v1.33.1", "v1.35.0", "v1.37.2"])
def test_other_releases(version: str) -> None:
    cluster.refuse_broken({"gitVersion": version})
    assert networks([node("n1", version)]) == {"pods": [], "services": []}


@pytest.mark.parametrize(
    ("own", "variable"),
    [
        ({"rdma_links_subnet": "10.42.0.0/15"}, "rdma_links_subnet is '10.42.0.0/15'"),
        ({"rdma_links_rail_subnets": ["10.9.0.0/24", "10.43.7.0/24"]}, "rdma_links_rail_subnets[1] is '10.43.7.0/24'"),
    ],
)
def test_rdma_networks_within_those_of_the_cluster(own: Dict[str, Any], variable: str) -> None:
    known = {"pods": ["10.44.0.0/22"], "services": ["10.43.0.0/16", "fd43::/112"]}
    hosts = [prepare.PrepareHost(f"h100-0{number}", "h100", own) for number in (1, 2)]
    assert prepare.problems(hosts) == []
    (problem,) = prepare.problems(hosts, networks=known)
    assert problem.startswith(f"h100-[01-02]: {variable}")
    assert "overlaps the cluster's network for services 10.43.0.0/16: RDMA links need a network of their own" in problem
