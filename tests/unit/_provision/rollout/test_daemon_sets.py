# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""On which nodes a DaemonSet is not ready, and what a set of objects makes of that."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.discovery import Resource
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import ObjectKey
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset import converge as applyset
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.plan import ApplysetRequest
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.rollout import daemon_sets
from ansible_collections.zerocopy.rdma.tests.unit._provision.api_server import Server
from ansible_collections.zerocopy.rdma.tests.unit._provision.object_store import Store

KEY = ObjectKey("apps", "DaemonSet", "dra", "driver")
RESOURCE = Resource("apps", "v1", "DaemonSet", "daemonsets", True, frozenset({"watch"}))
PATH, PODS = RESOURCE.path("dra", "driver"), "/api/v1/namespaces/dra/pods"
READY = [{"type": "Ready", "status": "True"}]
CRASHED = {"name": "driver", "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}}}
CRASH = "on n2, container driver: CrashLoopBackOff: back-off"
HANGING = "its pod is Running, and not ready"


def test_the_node_of_a_pod_that_is_not_scheduled() -> None:
    fields = [{"key": "metadata.name", "operator": "In", "values": ["h100-01"]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": fields}]}}
    assert daemon_sets.node_of({"spec": {"affinity": {"nodeAffinity": required}}}) == "h100-01"
    assert daemon_sets.node_of({"spec": {"nodeName": "h100-02"}}) == "h100-02"
    assert daemon_sets.node_of({"spec": {}}) == ""


def pod(node: str, owner: str = "uid", **state: Any) -> Dict[str, Any]:
    meta = {"name": f"driver-{node}", "ownerReferences": [{"uid": owner}], "labels": {"app": "driver"}}
    return {"metadata": meta, "spec": {"nodeName": node}, "status": {"phase": "Running", **state}}


def daemon_set(wanted: int, updated: int, seen: int = 2) -> Dict[str, Any]:
    return {
        "metadata": {"name": "driver", "namespace": "dra", "uid": "uid", "generation": 2, "resourceVersion": "7"},
        "spec": {"selector": {"matchLabels": {"app": "driver"}}},
        "status": {
            "observedGeneration": seen,
            "desiredNumberScheduled": wanted,
            "updatedNumberScheduled": updated,
        },
    }


GOOD, BAD, STUCK = (
    pod("n1", conditions=READY),
    pod("n2", containerStatuses=[CRASHED]),
    pod("n3", conditions=[{"type": "Ready", "status": "False"}]),
)


@pytest.mark.parametrize(
    ("live", "pods", "expected"),
    [
        (daemon_set(3, 3), [GOOD, BAD, STUCK], {"n2": CRASH, "n3": HANGING}),
        # By the time somebody looks, all are ready.
        (daemon_set(1, 1), [GOOD], {}),
        # One that is ending beside the one that takes its place.
        (daemon_set(1, 1), [pod("n1"), GOOD], {}),
        # Not rolled out: nobody knows what the nodes without a new pod will do.
        (daemon_set(2, 1), [GOOD, BAD], None),
        (daemon_set(2, 2, seen=1), [GOOD, BAD], None),
        (daemon_set(3, 3), [GOOD, BAD], None),
        (daemon_set(2, 2), [GOOD, pod("n2", owner="another")], None),
    ],
)
def test_nodes_on_which_it_is_not_ready(
    server: Server, client: Client, live: Dict[str, Any], pods: List[Dict[str, Any]], expected: Optional[Dict[str, str]]
) -> None:
    server.paths = {PATH: (200, {}, live), PODS: (200, {}, {"items": pods})}
    assert daemon_sets.unready(client, KEY, RESOURCE) == expected


POLICY = ObjectKey("mellanox.com", "NicNodePolicy", "", "rdma-shared-v100")
POLICIES = Resource("mellanox.com", "v1alpha1", "NicNodePolicy", "nicnodepolicies", False, frozenset({"watch"}))
GROUP, NIC = "zerocopy.rdma.node-restriction.kubernetes.io/shared-device", "feature.node.kubernetes.io/pci-15b3.present"
NODE = {GROUP: "v100", NIC: "true"}


def node_policy(state: str) -> Dict[str, Any]:
    meta = {"name": POLICY.name, "uid": "policy", "resourceVersion": "7"}
    return {"metadata": meta, "spec": {"nodeSelector": {GROUP: "v100"}}, "status": {"state": state}}


def plugin(wanted: int, updated: int, owner: str = "policy") -> Dict[str, Any]:
    """A DaemonSet that the operator has made."""
    found = daemon_set(wanted, updated)
    found["metadata"]["ownerReferences"] = [{"uid": owner}]
    found["spec"]["template"] = {"spec": {"nodeSelector": NODE}}
    return found


def nodes(**labels: Dict[str, str]) -> List[Dict[str, Any]]:
    return [{"metadata": {"name": name, "labels": own}} for name, own in labels.items()]


BARE = "DaemonSet dra/driver has no pod there, because the node lacks the label " + NIC + "=true"


@pytest.mark.parametrize(
    ("state", "sets", "there", "pods", "expected"),
    [
        (
            "notReady",
            [plugin(3, 3)],
            nodes(n1=NODE, n2=NODE, n3=NODE),
            [GOOD, BAD, STUCK],
            {"n2": CRASH, "n3": HANGING},
        ),
        # The operator waits for at least one pod.
        ("notReady", [plugin(0, 0)], [], [], {}),
        ("notReady", [plugin(0, 0)], nodes(n1={GROUP: "v100"}), [], {"n1": BARE}),
        ("notReady", [plugin(1, 1)], nodes(n1=NODE, n2={GROUP: "v100", NIC: "false"}), [GOOD], {"n2": BARE}),
        ("notReady", [plugin(1, 1)], nodes(n1=NODE, n2=NODE), [GOOD], {"n2": BARE.partition(",")[0]}),
        # By the time somebody looks it is ready.
        ("ready", [plugin(1, 1)], nodes(n1=NODE), [GOOD], {}),
        # What it waits for is something else.
        ("notReady", [plugin(1, 1)], nodes(n1=NODE), [GOOD], None),
        ("notReady", [plugin(2, 1)], nodes(n1=NODE, n2=NODE), [GOOD, BAD], None),
        ("notReady", [plugin(2, 2, owner="another")], nodes(n1=NODE, n2=NODE), [GOOD, BAD], None),
        ("error", [plugin(2, 2)], nodes(n1=NODE, n2=NODE), [GOOD, BAD], None),
        ("", [], [], [], None),
    ],
)
def test_nodes_on_which_a_policy_is_not_ready(
    server: Server,
    client: Client,
    state: str,
    sets: List[Dict[str, Any]],
    there: List[Dict[str, Any]],
    pods: List[Dict[str, Any]],
    expected: Optional[Dict[str, str]],
) -> None:
    server.paths = {
        POLICIES.path("", POLICY.name): (200, {}, node_policy(state)),
        "/apis/apps/v1/daemonsets": (200, {}, {"items": sets}),
        "/api/v1/nodes": (200, {}, {"items": there}),
        PODS: (200, {}, {"items": pods}),
    }
    assert daemon_sets.unready(client, POLICY, POLICIES) == expected
    assert daemon_sets.selects_no_node(client, POLICY, node_policy(state)) == (not there)
    asked = {path for _method, path, *_rest in server.seen if path.startswith("/api/v1/nodes")}
    assert asked == {f"/api/v1/nodes?labelSelector={GROUP.replace('/', '%2F')}%3Dv100"}


def ending(node: str, owner: str = "uid") -> Dict[str, Any]:
    found = pod(node, owner)
    return {**found, "metadata": {**found["metadata"], "deletionTimestamp": "2026-11-30T12:00:00Z"}}


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        ([ending("lost"), ending("lost-2")], ["lost", "lost-2"]),
        ([ending("lost"), pod("well", owner="another")], ["lost"]),
        # These may end any moment.
        ([ending("lost"), ending("well")], []),
        ([ending("lost"), ending("sick")], []),
        ([ending("lost"), pod("lost-2")], []),
        ([ending("deleted")], []),
        ([], []),
    ],
)
def test_nodes_that_keep_it_from_going(
    server: Server, client: Client, pods: List[Dict[str, Any]], expected: List[str]
) -> None:
    said = {"lost": "Unknown", "lost-2": "Unknown", "well": "True", "sick": "False"}
    there = [
        {"metadata": {"name": name}, "status": {"conditions": [{"type": "Ready", "status": word}]}}
        for name, word in said.items()
    ]
    server.paths = {
        PATH: (200, {}, daemon_set(0, 0)),
        PODS: (200, {}, {"items": pods}),
        "/api/v1/nodes": (200, {}, {"items": there}),
    }
    assert daemon_sets.held_by(client, KEY, RESOURCE) == expected


def test_other_kinds_are_not_about_nodes(server: Server, client: Client) -> None:
    resource = Resource("apps", "v1", "Deployment", "deployments", True, frozenset())
    assert daemon_sets.unready(client, ObjectKey("apps", "Deployment", "dra", "driver"), resource) is None
    assert daemon_sets.held_by(client, ObjectKey("apps", "Deployment", "dra", "driver"), resource) == []
    assert server.seen == []


def wanted(kind: str, name: str) -> Dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "dra"},
        "spec": {"selector": {"matchLabels": {"app": "driver"}}},
    }


def run(client: Client, *objects: Dict[str, Any], **options: Any) -> Dict[str, Any]:
    return applyset.converge(client, ApplysetRequest("set", "dra", list(objects), wait_timeout=0, **options))


def test_a_set_fails_or_names_the_nodes(server: Server, client: Client) -> None:
    server.decide = store = Store()
    driver, other = wanted("DaemonSet", "driver"), wanted("Deployment", "other")
    assert run(client, driver, other)["unready"] == {}
    live = store.objects[PATH]
    live.update(status=daemon_set(2, 2)["status"], metadata={**live["metadata"], "uid": "uid", "generation": 2})
    store.objects.update({f"{PODS}/{one['metadata']['name']}": one for one in (GOOD, BAD)})
    said = (
        "^gave up waiting after 0 s without progress, or after a failure:\nDaemonSet dra/driver: 0 of 2 pods available"
    )
    with pytest.raises(ClusterError, match=said):
        run(client, driver, wait=True)
    # What has left the set goes all the same.
    result = run(client, driver, wait=True, report_nodes=True)
    assert result["unready"] == {"n2": [f"DaemonSet dra/driver: {CRASH}"]}
    assert {told["name"]: told["action"] for told in result["objects"]} == {
        "driver": "unchanged",
        "other": "pruned",
        "set": "configured",
    }
    # Not every object is one of nodes.
    with pytest.raises(ClusterError, match="Deployment dra/other: its controller has not seen the change yet"):
        run(client, driver, other, wait=True, report_nodes=True)


def test_a_policy_for_nodes_that_are_not_there_stops_no_other(server: Server, client: Client) -> None:
    server.decide = store = Store()
    policies = "/apis/mellanox.com/v1/nicnodepolicies"
    policy = {
        "apiVersion": "mellanox.com/v1",
        "kind": "NicNodePolicy",
        "metadata": {"name": POLICY.name},
        "spec": {"nodeSelector": {GROUP: "v100"}},
    }
    said = f"NicNodePolicy {POLICY.name}: not seen by the Network Operator yet"
    with pytest.raises(ClusterError, match=said):
        run(client, policy, wait=True)
    assert run(client, policy, wait=True, report_nodes=True)["unready"] == {}
    # Without the operator, a node gets nothing.
    store.objects["/api/v1/nodes/n1"] = {"metadata": {"name": "n1", "labels": {GROUP: "v100"}}}
    with pytest.raises(ClusterError, match=said):
        run(client, policy, wait=True, report_nodes=True)
    live = store.objects[f"{policies}/{POLICY.name}"]
    live["status"] = {"state": "notReady"}
    made = plugin(0, 0, owner=live["metadata"]["uid"])
    server.paths = {"/apis/apps/v1/daemonsets": (200, {}, {"items": [made]})}
    assert run(client, policy, wait=True, report_nodes=True)["unready"] == {
        "n1": [f"NicNodePolicy {POLICY.name}: {BARE}"]
    }
