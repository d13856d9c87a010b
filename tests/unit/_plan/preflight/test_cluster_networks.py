# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What the API server says of the cluster's networks and versions. The real one is in tests/cluster."""

from __future__ import annotations

from typing import Any, Dict, List, Optional
from urllib.parse import urlencode

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.preflight import networks, preflight
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.preflight.hosts import PrepareHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision import cluster
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ApiError, ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client, Query
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.parent import PART_OF, Parent
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _cluster_plan, _fleet

_RANGES = {
    "resource": "servicecidrs",
    "responseKind": {"kind": "ServiceCIDR"},
    "scope": "Cluster",
    "verbs": ["list"],
}


class Answers(Client):
    """An API server, synthesised in the form of v1, apidiscovery.k8s.io/v2 and networking.k8s.io/v1."""

    def __init__(self, nodes: List[Dict[str, Any]], ranges: Optional[List[str]] = None, **served: Any) -> None:
        groups = {"networking.k8s.io": {"version": "v1", "resources": [_RANGES]}, **served}
        items = [{"metadata": {"name": name}, "versions": [version]} for name, version in groups.items() if version]
        self._answers: Dict[str, Any] = {
            "/version": {"gitVersion": "v1.36.3", "major": "1", "minor": "36"},
            "/apis": {"kind": "APIGroupDiscoveryList", "items": items},
            "/api/v1/nodes": {"items": nodes},
        }
        if ranges is not None:
            self._answers["/apis/networking.k8s.io/v1/servicecidrs"] = {"items": [{"spec": {"cidrs": ranges}}]}

    def all(self, call: Any, items: Any) -> List[Any]:
        return [call(item) for item in items]

    def find(self, path: str) -> Optional[Dict[str, Any]]:
        return self._answers.get(path)

    def create(self, path: str, item: Any, query: Query) -> Any:
        raise ApiError(403, {"message": "forbidden"})

    def get(self, path: str, query: Optional[Query] = None, accept: str = "") -> Dict[str, Any]:
        path += f"?{urlencode(query)}" if query else ""
        if path not in self._answers:
            raise ApiError(403, {"message": "forbidden"})
        found: Dict[str, Any] = self._answers[path]
        return found


_DRA: Dict[str, Any] = {"resource.k8s.io": {"version": "v1"}}


def node(name: str, kubelet: str = "v1.36.3", **spec: Any) -> Dict[str, Any]:
    return {"metadata": {"name": name}, "spec": spec, "status": {"nodeInfo": {"kubeletVersion": kubelet}}}


def info(nodes: List[Dict[str, Any]], ranges: Optional[List[str]] = None, dra: bool = False, **served: Any) -> Any:
    client: Any = Answers(nodes, ranges, **served)
    return cluster.info(client, dra)


def test_networks_of_pods_and_services() -> None:
    nodes = [node(f"n{number}", podCIDRs=[f"10.42.{number}.0/24", f"fd42:{number}::/64"]) for number in range(4)]
    nodes += [node("bare"), node("old", podCIDR="10.50.0.0/24")]
    found = info(nodes, ["10.43.0.0/16", "fd43::/112"])["networks"]
    assert found["pods"][:2] == ["10.42.0.0/22", "10.50.0.0/24"]
    assert len(found["pods"]) == 6
    assert found["services"] == ["10.43.0.0/16", "fd43::/112"]


def test_networks_that_the_api_server_does_not_tell() -> None:
    nothing: Dict[str, List[str]] = {"pods": [], "services": []}
    assert info([node("bare")])["networks"] == nothing
    unserved: Dict[str, Any] = {"networking.k8s.io": None}
    assert info([node("bare")], **unserved)["networks"] == nothing


def test_labels_of_nodes() -> None:
    labelled = {"metadata": {"name": "n1", "labels": {"zerocopy.rdma.node-restriction.kubernetes.io/group": "h100"}}}
    assert info([labelled, node("n2")])["nodes"] == {
        "n1": {"zerocopy.rdma.node-restriction.kubernetes.io/group": "h100"},
        "n2": {},
    }


def test_dra_is_asked_for_where_a_strategy_needs_it() -> None:
    assert "api_version" not in info([node("n1", "v1.34.1")])
    assert info([node("n1")], dra=True, **_DRA)["api_version"] == "resource.k8s.io/v1"
    with pytest.raises(ClusterError, match="Dynamic Resource Allocation is off"):
        info([node("n1")], dra=True)


@pytest.mark.parametrize("version", ["v1.34.0", "v1.34.1", "v1.34.1+k3s1", "v1.34.0-gke.1662000"])
def test_releases_without_registration(version: str) -> None:
    with pytest.raises(ClusterError, match=r"it must be 1\.34\.2 or newer") as refused:
        cluster.refuse_broken({"gitVersion": version})
    assert version in str(refused.value)
    with pytest.raises(
        ClusterError, match=r"the kubelet is Kubernetes .* on n\[1-2\], in which DRA drivers do not stay"
    ):
        info([node("n1", version), node("n2", version), node("n3")], dra=True, **_DRA)


@pytest.mark.parametrize("version", ["v1.34.2", "v1.34.10", "v1.34.12+rke2r1", "v1.33.1", "v1.35.0", "v1.37.2"])
def test_other_releases(version: str) -> None:
    cluster.refuse_broken({"gitVersion": version})
    assert info([node("n1", version)], dra=True, **_DRA)["kubernetes"] == "v1.36.3"


@pytest.mark.parametrize(
    ("own", "variable"),
    [
        ({"rdma_links_subnet": "10.42.0.0/15"}, "rdma_links_subnet is '10.42.0.0/15'"),
        ({"rdma_links_rail_subnets": ["10.9.0.0/24", "10.43.7.0/24"]}, "rdma_links_rail_subnets[1] is '10.43.7.0/24'"),
    ],
)
def test_rdma_networks_within_those_of_the_cluster(own: Dict[str, Any], variable: str) -> None:
    known = {"pods": ["10.44.0.0/22"], "services": ["10.43.0.0/16", "fd43::/112"]}
    hosts = [PrepareHost(f"h100-0{number}", "h100", own) for number in (1, 2)]
    assert preflight.problems(hosts, variables.options_of()) == []
    (problem,) = networks.of_cluster(hosts, known, variables.options_of())
    assert problem.startswith(f"h100-[01-02]: {variable}")
    assert "overlaps the cluster's network for services 10.43.0.0/16: RDMA links need a network of their own" in problem


def test_only_what_networks_add_is_told_a_second_time() -> None:
    hostvars: Dict[str, Dict[str, Any]] = {
        "h100-01": {"rdma_links_subnet": "10.43.0.0/24", "rdma_links_mtu": 1, "rdma_linked": True},
        "h100-02": {"rdma_links_subnet": "10.9.0.0/24"},
    }
    fleet = _fleet.fleet({"hostvars": hostvars, "ansible_play_hosts_all": list(hostvars)})
    (problem,) = _cluster_plan.network_problems(fleet, {"pods": [], "services": ["10.43.0.0/16"]})
    assert problem.startswith("h100-01: rdma_links_subnet is '10.43.0.0/24'")
    assert _cluster_plan.network_problems(fleet, {}) == []


_CLAIMS = {
    "resource": "resourceclaims",
    "responseKind": {"kind": "ResourceClaim"},
    "scope": "Namespaced",
    "verbs": ["list"],
}


def test_objects_say_which_set_they_are_in() -> None:
    group = "k8s.cni.cncf.io"
    kind = {
        "resource": "network-attachment-definitions",
        "responseKind": {"kind": "NetworkAttachmentDefinition"},
        "scope": "Namespaced",
        "verbs": ["list"],
    }
    client: Any = Answers([], None, **{group: {"version": "v1", "resources": [kind]}})
    items = [{"metadata": {"name": name, "namespace": "x", "labels": {PART_OF: name}}} for name in ("", "mine")]
    client._answers[f"/apis/{group}/v1/network-attachment-definitions"] = {"items": [*items, {"metadata": {}}]}
    wanted = [{"kind": f"NetworkAttachmentDefinition.{group}", "name": ""}, {"kind": "Other.x", "name": ""}]
    found = cluster.info(client, False, objects=wanted)["objects"]
    assert [one["metadata"]["set"] for one in found] == ["", "mine", ""]


def claim(node_name: str, *users: Dict[str, str], driver: str = "dra.net") -> Dict[str, Any]:
    results = [{"driver": driver, "pool": node_name, "device": f"eth{number}"} for number in range(2)]
    status = {"allocation": {"devices": {"results": results}}, "reservedFor": list(users)}
    return {"metadata": {"name": "nics", "namespace": "train"}, "status": status}


def test_pods_that_hold_devices() -> None:
    served: Dict[str, Any] = {"resource.k8s.io": {"version": "v1", "resources": [_CLAIMS]}}
    client: Any = Answers([node("n1")], **served)
    pods = [{"resource": "pods", "name": name} for name in ("b", "a")]
    # A claim for a GPU with its NIC, in another namespace.
    both = claim("n3", pods[1])
    both["metadata"]["namespace"] = "other"
    both["status"]["allocation"]["devices"]["results"][1]["driver"] = "gpu.nvidia.com"
    client._answers["/apis/resource.k8s.io/v1/resourceclaims"] = {
        "items": [
            claim("n1", *pods),
            claim("n1", pods[0]),
            claim("n2", {"resource": "podgroups", "name": "g"}),
            claim("n1", pods[0], driver="gpu.nvidia.com"),
            {"metadata": {"name": "waits", "namespace": "train"}},
            {"metadata": {"name": "unused", "namespace": "train"}, "status": {"allocation": {}}},
            {"metadata": {"name": "ended", "namespace": "train"}, "status": {"reservedFor": pods}},
            both,
        ]
    }
    held = {
        "dra.net": {"n1": ["train/a", "train/b"], "n3": ["other/a"]},
        "gpu.nvidia.com": {"n1": ["train/b"], "n3": ["other/a"]},
    }
    assert cluster.info(client, False)["held"] == held
    assert info([node("n1")])["held"] == {}


@pytest.mark.parametrize("sets", [[], [Parent("zerocopy-rdma-driver", "kube-system")]])
def test_lists_that_may_not_be_read_are_not_taken_for_empty(sets: List[Parent]) -> None:
    served: Dict[str, Any] = {} if sets else {"resource.k8s.io": {"version": "v1", "resources": [_CLAIMS]}}
    client: Any = Answers([node("n1")], **served)
    with pytest.raises(ClusterError, match="forbidden, so it is unknown whether pods need a DRA driver: let this user"):
        cluster.info(client, False, sets)


@pytest.mark.parametrize("path", ["/apis/resource.k8s.io/v1/resourceclaims", "/apis/apps/v1/daemonsets"])
def test_an_api_server_that_fails_is_not_one_that_refuses(path: str) -> None:
    class Failing(Answers):
        def get(self, path: str, query: Optional[Query] = None, accept: str = "") -> Dict[str, Any]:
            if path.startswith(failing):
                raise ApiError(500, {"message": "etcdserver: request timed out"})
            return super().get(path, query, accept)

    failing = path
    served: Dict[str, Any] = {"resource.k8s.io": {"version": "v1", "resources": [_CLAIMS]}}
    client: Any = Failing([node("n1")], **served)
    client._answers["/apis/resource.k8s.io/v1/resourceclaims"] = {"items": []}
    with pytest.raises(ApiError, match="timed out"):
        cluster.info(client, False, [Parent("zerocopy-rdma-driver", "kube-system")])


def test_the_daemon_sets_of_a_set() -> None:
    client: Any = Answers([node("n1")])
    driver = Parent("zerocopy-rdma-driver", "kube-system")
    meta: Dict[str, Any] = {
        "name": "dranet-h100",
        "namespace": "rdma",
        "labels": {"applyset.kubernetes.io/part-of": driver.id},
    }
    meta["managedFields"] = [{"manager": "zerocopy.rdma", "operation": "Apply"}]
    spec = {"template": {"spec": {"nodeSelector": {"example.org/group": "h100"}}}}
    # Of a tenant, in another namespace; and one that this tool has not applied.
    theirs = [{**meta, "namespace": "tenant"}, {**meta, "name": "x", "managedFields": []}]
    sets = [{"metadata": {**one, "uid": "1"}, "spec": spec, "status": {}} for one in (meta, *theirs)]
    parent = driver.object(driver.scope([], ["rdma"]))
    query = urlencode({"labelSelector": f"applyset.kubernetes.io/part-of in ({driver.id})"})
    client._answers[f"/apis/apps/v1/daemonsets?{query}"] = {"items": sets}
    told = {"name": "dranet-h100", "namespace": "rdma", "set": driver.id}
    expected = [{"kind": "DaemonSet", "metadata": told, "spec": spec}]
    assert cluster.info(client, False, [driver])["daemon_sets"] == []
    client._answers[driver.path] = parent
    assert cluster.info(client, False, [driver])["daemon_sets"] == expected
    # A parent that cannot be read is refused when the set is applied.
    del parent["metadata"]["annotations"]
    assert cluster.info(client, False, [driver])["daemon_sets"] == []
    assert cluster.info(client, False)["daemon_sets"] == []


def test_what_the_cluster_has_of_ours() -> None:
    """By which the plan leaves out what there is nothing to remove of."""
    leaf = {
        "manager": "zerocopy.rdma/leaf",
        "operation": "Apply",
        "fieldsV1": {"f:metadata": {"f:labels": {"f:a": {}}}},
    }
    meta = {"name": "n2", "annotations": {"zerocopy.rdma/counters": "{}"}, "labels": {"a": "leaf-1"}}
    counted = {"metadata": {**meta, "managedFields": [leaf]}, "spec": {}}
    gone = {"capacity": {"cpu": "64", "rdma/hca": "0"}, "allocatable": {"cpu": "64", "rdma/gone": "0"}}
    client: Any = Answers([{**node("n1"), "status": gone}, counted])
    driver, claims = Parent("zerocopy-rdma-driver", "kube-system"), Parent("zerocopy-rdma-claims", "rdma")
    query = urlencode({"labelSelector": f"{PART_OF} in ({driver.id},{claims.id})"})
    client._answers[f"/apis/apps/v1/daemonsets?{query}"] = {"items": []}
    client._answers[claims.path] = {"metadata": {}}
    ours, theirs = ({"applyset.kubernetes.io/tooling": f"{tool}/v1"} for tool in ("zerocopy.rdma", "kubectl"))
    secrets = {"zerocopy-rdma-driver": ours, "zerocopy-rdma-h100-driver": ours, "of-kubectl": theirs}
    items = [{"metadata": {"name": name, "annotations": tooling}} for name, tooling in secrets.items()]
    labelled = urlencode({"labelSelector": "applyset.kubernetes.io/id"})
    client._answers[f"/api/v1/namespaces/kube-system/secrets?{labelled}"] = {"items": items}
    # In the namespace rdma, this user may not list Secrets.
    found = cluster.info(client, False, [driver, claims])
    assert found["others"] == [{"name": "zerocopy-rdma-h100-driver", "namespace": "kube-system"}]
    assert found["parents"] == [{"name": "zerocopy-rdma-claims", "namespace": "rdma"}]
    assert found["extended_resources"] == {"n1": ["rdma/hca", "rdma/gone"], "n2": []}
    assert found["counted"] == ["n2"]
    assert found["leaf_labelled"] == ["n2"]
    # Nor ask for rights.
    assert found["administrator"] is False
