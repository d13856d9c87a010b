# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Which rights are asked for; on a real API server, with its authorizer, they are in tests/cluster/test_rights.py."""

from __future__ import annotations

import json
from typing import Any, Callable, Dict, List, Optional, Tuple

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.steps import FieldsStep, LabelsStep, ObjectsStep
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision import rights
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import GroupKind
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.parent import Parent
from ansible_collections.zerocopy.rdma.tests.unit._provision.api_server import Reply, Server, status

RBAC = "rbac.authorization.k8s.io"
ROLE = {
    "apiVersion": f"{RBAC}/v1",
    "kind": "ClusterRole",
    "metadata": {"name": "dranet"},
    "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
}
STEPS = [
    LabelsStep("Label", "driver", {"n1": {"a": "b"}}),
    ObjectsStep("Apply", "driver", "set", "kube-system", [ROLE]),
    ObjectsStep("Remove", "driver", "old", "kube-system"),
]


def served(group: str, plural: str, kind: str, scope: str) -> Dict[str, Any]:
    resource = {"resource": plural, "responseKind": {"kind": kind}, "scope": scope}
    return {"metadata": {"name": group}, "versions": [{"version": "v1", "resources": [resource]}]}


def told(server: Server, client: Client, allowed: Callable[[Dict[str, Any]], bool], **more: Any) -> List[str]:
    core = [served("", "pods", "Pod", "Namespaced")] if more.pop("pods", False) else []
    groups_of_apis = [served(RBAC, "clusterroles", "ClusterRole", "Cluster"), *more.pop("kinds", [])]
    for path, groups in {"/api": core, "/apis": groups_of_apis}.items():
        server.paths[path] = (200, {}, {"kind": "APIGroupDiscoveryList", "items": groups})

    def decide(method: str, _path: str, body: bytes) -> Reply:
        if method == "GET":
            return status(403)
        return 201, {}, {"status": {"allowed": allowed(json.loads(body)["spec"]["resourceAttributes"])}}

    server.decide = decide
    return rights.missing(client, more.pop("steps", STEPS), **more)


def test_all_that_is_missing_is_told(server: Server, client: Client) -> None:
    assert told(server, client, lambda _right: False) == [
        "this user has no right to list and patch nodes",
        "this user has no right to get and patch secrets set in namespace kube-system",
        "this user has no right to create secrets in namespace kube-system",
        f"this user has no right to create and list clusterroles.{RBAC}",
        f"this user has no right to patch and escalate clusterroles.{RBAC} dranet",
        "this user has no right to get secrets old in namespace kube-system",
    ]


def test_an_administrator_costs_one_question(server: Server, client: Client) -> None:
    assert told(server, client, lambda _right: True) == []
    assert len(server.seen) == 1


def test_a_right_for_all_objects_of_a_kind_is_one_for_each(server: Server, client: Client) -> None:
    assert told(server, client, lambda right: right["verb"] != "*" and "name" not in right) == []


def test_a_look_is_asked_for_as_well(server: Server, client: Client) -> None:
    look = {"sets": [{"name": "set", "namespace": "kube-system"}], "published": {"wait": True}}
    assert told(server, client, lambda right: right["resource"] == "nodes", steps=[], look=look) == [
        "this user has no right to list daemonsets.apps",
        "this user has no right to get secrets set in namespace kube-system",
        "this user has no right to list and watch resourceslices.resource.k8s.io",
        "this user has no right to list deviceclasses.resource.k8s.io",
    ]


def test_what_is_no_longer_planned_has_to_be_deleted(server: Server, client: Client) -> None:
    parent = Parent("old", "kube-system")
    server.paths[parent.path] = (200, {}, parent.object(parent.scope([GroupKind(RBAC, "ClusterRole")])))
    server.paths[f"/apis/{RBAC}/v1/clusterroles"] = (200, {}, {"items": [{"metadata": {"name": "gone"}}]})
    role = "clusterroles.rbac.authorization.k8s.io"
    last = told(server, client, lambda right: right["verb"] not in ("*", "delete"))
    assert last == [
        "this user has no right to delete secrets old in namespace kube-system",
        f"this user has no right to delete {role} gone",
    ]
    # Nobody knows the names of what cannot be listed.
    server.paths[f"/apis/{RBAC}/v1/clusterroles"] = status(403)
    last = told(server, client, lambda right: right["verb"] not in ("*", "list", "delete"))
    assert f"this user has no right to list and delete {role}" in last


def test_who_uses_a_network_of_an_operator_has_to_be_known(server: Server, client: Client) -> None:
    kind = GroupKind("sriovnetwork.openshift.io", "SriovNetwork")
    kinds = [served(kind.group, "sriovnetworks", kind.kind, "Namespaced")]
    parent = Parent("old", "kube-system")
    server.paths[parent.path] = (200, {}, parent.object(parent.scope([kind], ["kube-system"])))
    network = {"metadata": {"name": "gone", "namespace": "kube-system"}}
    server.paths[f"/apis/{kind.group}/v1/namespaces/kube-system/sriovnetworks"] = (200, {}, {"items": [network]})

    def allowed(right: Dict[str, Any]) -> bool:
        return bool(right["verb"] != "*" and right["resource"] != "pods")

    assert told(server, client, allowed, kinds=kinds, pods=True) == ["this user has no right to list pods"]


@pytest.mark.parametrize(
    ("spec", "managers", "verbs"),
    [
        ({}, None, "get and patch"),
        (None, None, "get"),
        ({}, ("us",), "get and patch"),
        (None, ("us",), "get and delete"),
        (None, ("us", "admin"), "get and patch"),
        (None, ("admin",), "get"),
    ],
)
def test_what_an_operators_policy_takes_depends_on_what_is_there(
    server: Server, client: Client, spec: Optional[Dict[str, Any]], managers: Optional[Tuple[str, ...]], verbs: str
) -> None:
    kind = served("mellanox.com", "nicclusterpolicies", "NicClusterPolicy", "Cluster")
    policy = {"apiVersion": "mellanox.com/v1", "kind": "NicClusterPolicy", "metadata": {"name": "one"}}
    entries = [{"manager": name, "operation": "Apply", "fieldsV1": {"f:spec": {}}} for name in managers or ()]
    live = {**policy, "metadata": {"name": "one", "managedFields": entries}}
    path = "/apis/mellanox.com/v1/nicclusterpolicies/one"
    server.paths[path] = status(404) if managers is None else (200, {}, live)
    step = FieldsStep("Fields", "driver", policy if spec is None else {**policy, "spec": spec}, "us")
    place = "nicclusterpolicies.mellanox.com"
    expected = [f"this user has no right to {verbs} {place} one"]
    # There is no name yet to which that right could be limited.
    expected += [f"this user has no right to create {place}"] if spec is not None and managers is None else []
    assert told(server, client, lambda _right: False, steps=[step], kinds=[kind]) == expected


def test_a_role_is_asked_about_once(server: Server, client: Client) -> None:
    binding = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "dranet"},
        "roleRef": {"name": "dranet"},
    }
    steps = [ObjectsStep("Apply", "driver", "set", "kube-system", [ROLE, binding])]
    asked: List[Dict[str, Any]] = []

    def allowed(right: Dict[str, Any]) -> bool:
        asked.append(right)
        return right["verb"] not in ("*", "escalate", "bind")

    assert told(server, client, allowed, steps=steps) == []
    assert asked.count({"verb": "get", "resource": "pods"}) == 1


def test_what_somebody_has_may_be_given(server: Server, client: Client) -> None:
    assert told(server, client, lambda right: right["verb"] not in ("*", "escalate")) == []
    few = told(server, client, lambda right: right["verb"] not in ("*", "escalate") and right["resource"] != "pods")
    assert few == [f"this user has no right to escalate clusterroles.{RBAC} dranet"]


def test_who_may_not_ask_is_told_by_what_fails(server: Server, client: Client) -> None:
    server.paths["/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"] = status(403)
    assert told(server, client, lambda _right: False) == []
