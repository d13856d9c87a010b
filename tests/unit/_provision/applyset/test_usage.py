# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Why an object that left the set has to stay, also where not everything may be read."""

from __future__ import annotations

from typing import Any, Dict, Optional

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.discovery import Api, Resource
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ApiError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import GroupKind, ObjectKey
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.usage import SetMember, Usage
from ansible_collections.zerocopy.rdma.tests.unit._provision.api_server import Reply, Server, nested, status

KINDS = [
    ("", "v1", "Pod", "pods"),
    ("", "v1", "Namespace", "namespaces"),
    ("apps", "v1", "Deployment", "deployments"),
    ("apps", "v1", "ReplicaSet", "replicasets"),
    ("apps", "v1", "StatefulSet", "statefulsets"),
    ("apps", "v1", "ControllerRevision", "controllerrevisions"),
    ("leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet", "leaderworkersets"),
    ("train.example.com", "v1", "TrainJob", "trainjobs"),
    ("resource.k8s.io", "v1", "ResourceClaim", "resourceclaims"),
    ("resource.k8s.io", "v1", "ResourceClaimTemplate", "resourceclaimtemplates"),
    ("resource.k8s.io", "v1", "DeviceClass", "deviceclasses"),
    # None of these has pods of its own, may be listed, or is in a namespace. What has none may name templates of any.
    ("", "v1", "Service", "services"),
    ("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets"),
    ("networking.k8s.io", "v1", "Ingress", "ingresses"),
    ("metrics.example.com", "v1", "PodUsage", "podusages"),
    ("fleet.example.com", "v1", "Fleet", "fleets"),
    ("mellanox.com", "v1alpha1", "HostDeviceNetwork", "hostdevicenetworks"),
]
CLUSTER_WIDE = ("Namespace", "DeviceClass", "Fleet", "HostDeviceNetwork")
UNLISTED = ("PodUsage",)
NETWORKS = "k8s.v1.cni.cncf.io/networks"


def discovery() -> Dict[str, Any]:
    return {
        "kind": "APIGroupDiscoveryList",
        "items": [
            {
                "metadata": {"name": group},
                "versions": [
                    {
                        "version": version,
                        "resources": [
                            {
                                "resource": plural,
                                "responseKind": {"kind": kind},
                                "scope": "Cluster" if kind in CLUSTER_WIDE else "Namespaced",
                                "verbs": ["get"] if kind in UNLISTED else ["get", "list"],
                            }
                        ],
                    }
                ],
            }
            for group, version, kind, plural in KINDS
        ],
    }


API = Api([discovery()])


def items(*found: Dict[str, Any]) -> Reply:
    return 200, {}, {"items": list(found)}


def named(name: str, **fields: Any) -> Dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "train"}, **fields}


def member(kind: str, name: str, **live: Any) -> SetMember:
    resource = API.find(GroupKind("" if kind == "Namespace" else "resource.k8s.io", kind))
    assert isinstance(resource, Resource)
    namespace = "train" if resource.namespaced else ""
    return SetMember(ObjectKey(resource.group, kind, namespace, name), resource, live)


TEMPLATE = member("ResourceClaimTemplate", "pair-0123456789")
USER = {"spec": {"resourceClaims": [{"name": "nic", "resourceClaimTemplateName": "pair-0123456789"}]}}
PODS = "/api/v1/namespaces/train/pods"
APPS = "/apis/apps/v1/namespaces/train/"
DEPLOYMENTS = APPS + "deployments"
HISTORY = ("replicasets", "statefulsets", "controllerrevisions")
SETS = "/apis/leaderworkerset.x-k8s.io/v1/namespaces/train/leaderworkersets"
FLEETS, DEVICES = "/apis/fleet.example.com/v1/fleets", "/apis/mellanox.com/v1alpha1/hostdevicenetworks"
JOBS = "/apis/train.example.com/v1/namespaces/train/trainjobs"


def reason(server: Server, client: Client, wanted: SetMember, paths: Dict[str, Reply], *going: ObjectKey) -> str:
    server.paths = paths
    server.replies = [items() for _each in range(len(KINDS) * 2)]
    return Usage(client, API, going).reason(wanted)


def test_what_nobody_names_may_go(server: Server, client: Client) -> None:
    other = {"spec": {"resourceClaims": [{"name": "nic", "resourceClaimTemplateName": "pair-9999999999"}]}}
    claim = {"spec": {"resourceClaims": [{"name": "nic", "resourceClaimName": "pair-0123456789"}]}}
    assert reason(server, client, TEMPLATE, {PODS: items(named("a", **other), named("b", **claim))}) == ""
    asked = sorted(path.partition("?")[0] for _method, path, *_rest in server.seen)
    assert asked == sorted([PODS, DEPLOYMENTS, SETS, JOBS, FLEETS, DEVICES, *(APPS + plural for plural in HISTORY)])


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (PODS, "named by Pod user"),
        (DEPLOYMENTS, "named by Deployment user"),
        (JOBS, "named by TrainJob user"),
        (FLEETS, "named by Fleet user"),
    ],
)
def test_what_a_workload_of_any_kind_names_stays(server: Server, client: Client, path: str, expected: str) -> None:
    assert reason(server, client, TEMPLATE, {path: items(named("user", **USER))}) == expected


@pytest.mark.parametrize(
    ("plural", "owner", "fields", "expected"),
    [
        ("replicasets", "Deployment", {"spec": {**USER["spec"], "replicas": 0}}, ""),
        ("replicasets", "Deployment", {"spec": {**USER["spec"], "replicas": 1}}, "named by ReplicaSet user"),
        # Its own, and not a version of something else.
        ("replicasets", None, {"spec": {**USER["spec"], "replicas": 0}}, "named by ReplicaSet user"),
        ("replicasets", "Rollout", {"spec": {**USER["spec"], "replicas": 0}}, "named by ReplicaSet user"),
        ("controllerrevisions", "DaemonSet", {"data": USER}, ""),
        ("controllerrevisions", "StatefulSet", {"data": USER}, ""),
        # Of an operator, whose rules nobody knows.
        ("controllerrevisions", "LeaderWorkerSet", {"data": USER}, "named by ControllerRevision user"),
    ],
)
def test_earlier_versions_need_nothing(
    server: Server, client: Client, plural: str, owner: Optional[str], fields: Dict[str, Any], expected: str
) -> None:
    version = named("user", **fields)
    version["metadata"]["ownerReferences"] = [{"kind": owner, "name": "trainer", "controller": True}] if owner else []
    assert reason(server, client, TEMPLATE, {APPS + plural: items(version)}) == expected


@pytest.mark.parametrize("state", ["currentRevision", "updateRevision"])
def test_a_stateful_set_makes_pods_of_two_versions(server: Server, client: Client, state: str) -> None:
    version = named("trainer-1", data=USER)
    version["metadata"]["ownerReferences"] = [{"kind": "StatefulSet", "name": "trainer", "controller": True}]
    updated = named(
        "trainer", status={"currentRevision": "trainer-0", "updateRevision": "trainer-2", state: "trainer-1"}
    )
    paths = {APPS + "statefulsets": items(updated), APPS + "controllerrevisions": items(version)}
    assert reason(server, client, TEMPLATE, paths) == "named by ControllerRevision trainer-1"


def test_the_first_of_several_users_is_named(server: Server, client: Client) -> None:
    found = items(named("user", **USER))
    assert reason(server, client, TEMPLATE, {PODS: found, DEPLOYMENTS: found, JOBS: found}) == "named by Pod user"


def test_pods_that_have_ended_need_nothing(server: Server, client: Client) -> None:
    reason(server, client, TEMPLATE, {})
    query = next(path for _method, path, *_rest in server.seen if path.startswith(PODS))
    assert query == PODS + "?fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed&limit=500"


def test_what_goes_as_well_needs_nothing(server: Server, client: Client) -> None:
    user = ObjectKey("apps", "Deployment", "train", "user")
    assert reason(server, client, TEMPLATE, {DEPLOYMENTS: items(named("user", **USER))}, user) == ""


def test_what_may_not_be_looked_at_may_need_it(server: Server, client: Client) -> None:
    forbidden = {PODS: status(403, "pods is forbidden"), JOBS: status(403, "trainjobs is forbidden")}
    expected = "may be in use: this user has no right to list pods, trainjobs.train.example.com in namespace train"
    assert reason(server, client, TEMPLATE, forbidden) == expected
    everywhere = {**forbidden, FLEETS: status(403, "fleets is forbidden")}
    assert reason(server, client, TEMPLATE, everywhere) == f"{expected} and fleets.fleet.example.com in the cluster"
    # One who does need it is the better reason.
    assert reason(server, client, TEMPLATE, {**forbidden, DEPLOYMENTS: items(named("user", **USER))}) == (
        "named by Deployment user"
    )


def test_a_kind_that_has_gone_needs_nothing(server: Server, client: Client) -> None:
    assert reason(server, client, TEMPLATE, {JOBS: status(404), DEPLOYMENTS: status(405)}) == ""


def test_a_kind_whose_conversion_nobody_answers_may_need_it(server: Server, client: Client) -> None:
    """Its operator is gone: no run would ever get past it."""
    broken = {JOBS: status(500, "conversion webhook failed")}
    told = reason(server, client, TEMPLATE, broken)
    assert told.startswith("may be in use: trainjobs.train.example.com in namespace train cannot be listed (")
    assert "conversion webhook failed" in told
    assert reason(server, client, TEMPLATE, {**broken, DEPLOYMENTS: items(named("user", **USER))}) == (
        "named by Deployment user"
    )


def test_a_reserved_claim_stays(server: Server, client: Client) -> None:
    pods = [{"resource": "pods", "name": "a"}, {"resource": "pods", "name": "b"}]
    claim = member("ResourceClaim", "one", status={"reservedFor": pods})
    assert reason(server, client, claim, {}) == "reserved for pods a, pods b"
    assert server.seen == []
    assert reason(server, client, member("ResourceClaim", "one", status={}), {}) == ""


@pytest.mark.parametrize("kind", ["resourceclaims", "resourceclaimtemplates"])
def test_a_class_that_a_claim_asks_for_stays(server: Server, client: Client, kind: str) -> None:
    asking = {"spec": {"spec": {"devices": {"requests": [{"exactly": {"deviceClassName": "rdma"}}]}}}}
    path = f"/apis/resource.k8s.io/v1/{kind}"
    what = "ResourceClaim" if kind == "resourceclaims" else "ResourceClaimTemplate"
    assert reason(server, client, member("DeviceClass", "rdma"), {path: items(named("one", **asking))}) == (
        f"requested by {what} train/one"
    )
    assert reason(server, client, member("DeviceClass", "other"), {path: items(named("one", **asking))}) == ""
    going = ObjectKey("resource.k8s.io", what, "train", "one")
    assert reason(server, client, member("DeviceClass", "rdma"), {path: items(named("one", **asking))}, going) == ""
    twice = {path: items(named("one", **asking), named("two", **asking))}
    assert reason(server, client, member("DeviceClass", "rdma"), twice) == f"requested by {what} train/one"


def test_a_class_stays_where_claims_may_not_be_listed(server: Server, client: Client) -> None:
    with pytest.raises(ApiError, match="forbidden"):
        reason(
            server,
            client,
            member("DeviceClass", "rdma"),
            {"/apis/resource.k8s.io/v1/resourceclaims": status(403, "forbidden")},
        )


def test_a_namespace_with_pods_stays(server: Server, client: Client) -> None:
    pods = "/api/v1/namespaces/dra/pods"
    namespace = member("Namespace", "dra")
    assert reason(server, client, namespace, {pods: items(named("a"))}) == "has pods"
    assert reason(server, client, namespace, {pods: items()}) == ""


def test_a_network_of_an_operator_that_pods_ask_for_stays(server: Server, client: Client) -> None:
    """The operator deletes what it made of it, which CNI reads when the pod ends."""
    resource = API.find(GroupKind("mellanox.com", "HostDeviceNetwork"))
    assert isinstance(resource, Resource)
    key = ObjectKey("mellanox.com", "HostDeviceNetwork", "", "rdma-v100")
    network = SetMember(key, resource, {"spec": {"networkNamespace": "nets"}})

    def of(annotation: str) -> str:
        pod = {"metadata": {"name": "a", "namespace": "train", "annotations": {NETWORKS: annotation}}}
        return reason(server, client, network, {"/api/v1/pods": items(pod)})

    assert of("nets/rdma-v100") == "requested by Pod train/a"
    assert of("rdma-v100") == ""


def test_what_a_tenant_has_nested_without_end_may_need_it_and_is_named(server: Server, client: Client) -> None:
    deep = b'{"items": [{"metadata": {"name": "deep", "namespace": "train"}, "spec": %s}]}' % nested(9000)
    assert reason(server, client, TEMPLATE, {JOBS: (200, {}, deep)}) == (
        "may be in use: TrainJob train/deep may name it, "
        "but its values nested more than 100 levels deep are not examined"
    )
    users: Dict[str, Any] = {JOBS: (200, {}, deep), DEPLOYMENTS: items(named("user", **USER))}
    assert reason(server, client, TEMPLATE, users) == "named by Deployment user"
