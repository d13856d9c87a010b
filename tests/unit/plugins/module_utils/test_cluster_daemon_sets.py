# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""On which nodes a DaemonSet is not ready, and what a set of objects makes of that."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision import daemon_sets
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.discovery import Resource
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import ObjectKey
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset import converge as applyset
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.plan import ApplysetRequest
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils.api_server import Server
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils.object_store import Store

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
        "metadata": {"name": "driver", "uid": "uid", "generation": 2, "resourceVersion": "7"},
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


def test_other_kinds_are_not_about_nodes(server: Server, client: Client) -> None:
    resource = Resource("apps", "v1", "Deployment", "deployments", True, frozenset())
    assert daemon_sets.unready(client, ObjectKey("apps", "Deployment", "dra", "driver"), resource) is None
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
    said = "^gave up waiting, after 0 s without progress or on a failure:\nDaemonSet dra/driver: 0 of 2 pods available"
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
