# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""States as kubernetes/api documents them, and how long is waited; with a real API server in tests/cluster."""

from __future__ import annotations

import json
from typing import Any, Dict, List, Optional

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api import request
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.discovery import Resource
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ApiError, ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import GroupKind, ObjectKey
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.rollout import wait
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.rollout.wait import (
    Readiness,
    pod_trouble,
    state,
    until,
)
from ansible_collections.zerocopy.rdma.tests.unit._provision.api_server import Clock, Server, status

READY = Readiness(True, "ready")


def live(status: Dict[str, Any], generation: int = 2, **spec: Any) -> Dict[str, Any]:
    return {"metadata": {"generation": generation}, "spec": spec, "status": status}


def true(name: str) -> Dict[str, Any]:
    return {"type": name, "status": "True"}


DAEMON_SET = GroupKind("apps", "DaemonSet")
DEPLOYMENT = GroupKind("apps", "Deployment")
NAMESPACE = GroupKind("", "Namespace")
DEFINITION = GroupKind("apiextensions.k8s.io", "CustomResourceDefinition")
SERVICE = GroupKind("apiregistration.k8s.io", "APIService")
POLICY = GroupKind("mellanox.com", "NicClusterPolicy")
NODE_POLICY = GroupKind("mellanox.com", "NicNodePolicy")
UNSEEN = Readiness(False, "its controller has not seen the change yet")


@pytest.mark.parametrize(
    ("kind", "item", "expected"),
    [
        (DAEMON_SET, live({}), UNSEEN),
        (DAEMON_SET, live({"observedGeneration": 1, "desiredNumberScheduled": 0}), UNSEEN),
        (DAEMON_SET, live({"observedGeneration": 2, "desiredNumberScheduled": 0}), READY),
        (
            DAEMON_SET,
            live(
                {
                    "observedGeneration": 2,
                    "desiredNumberScheduled": 6,
                    "updatedNumberScheduled": 4,
                    "numberAvailable": 6,
                }
            ),
            Readiness(False, "4 of 6 pods updated"),
        ),
        (
            DAEMON_SET,
            live(
                {
                    "observedGeneration": 2,
                    "desiredNumberScheduled": 6,
                    "updatedNumberScheduled": 6,
                    "numberAvailable": 5,
                }
            ),
            Readiness(False, "5 of 6 pods available"),
        ),
        (
            DAEMON_SET,
            live({"observedGeneration": 2, "desiredNumberScheduled": 6}, updateStrategy={"type": "OnDelete"}),
            READY,
        ),
        (DEPLOYMENT, live({"observedGeneration": 2, "updatedReplicas": 1, "availableReplicas": 1}), READY),
        (DEPLOYMENT, live({"observedGeneration": 2}, replicas=0), READY),
        (
            DEPLOYMENT,
            live({"observedGeneration": 2, "updatedReplicas": 2}, replicas=2),
            Readiness(False, "0 of 2 pods available"),
        ),
        (
            DEPLOYMENT,
            live(
                {
                    "observedGeneration": 2,
                    "conditions": [
                        {"type": "Progressing", "reason": "ProgressDeadlineExceeded", "message": "timed out"}
                    ],
                }
            ),
            Readiness(False, "timed out", failed=True),
        ),
        (NAMESPACE, live({"phase": "Active"}), Readiness(True, "Active")),
        (NAMESPACE, live({"phase": "Terminating"}), Readiness(False, "Terminating")),
        (DEFINITION, live({}), Readiness(False, "not established yet")),
        (
            DEFINITION,
            live({"conditions": [true("NamesAccepted"), true("Established")]}),
            Readiness(True, "not established yet"),
        ),
        (
            DEFINITION,
            live({"conditions": [{"type": "NamesAccepted", "status": "False", "message": "taken"}]}),
            Readiness(False, "taken", failed=True),
        ),
        (
            SERVICE,
            live({"conditions": [{"type": "Available", "status": "False", "message": "no endpoints"}]}),
            Readiness(False, "no endpoints"),
        ),
        (POLICY, live({}), READY),
        (POLICY, live({"observedGeneration": 1}), UNSEEN),
        (
            POLICY,
            live({"conditions": [{"type": "Ready", "status": "False", "reason": "Rolling"}]}),
            Readiness(False, "Rolling"),
        ),
        (NODE_POLICY, live({}), Readiness(False, "not seen by the Network Operator yet")),
        (NODE_POLICY, live({"state": "notReady"}), Readiness(False, "notReady")),
        (NODE_POLICY, live({"state": "ignore", "reason": "name"}), Readiness(False, "ignore: name", failed=True)),
        (NODE_POLICY, live({"state": "ready"}), READY),
        (GroupKind("", "ConfigMap"), {"metadata": {}}, READY),
    ],
)
def test_state(kind: GroupKind, item: Dict[str, Any], expected: Readiness) -> None:
    assert state(kind, item) == expected


def waiting(reason: str) -> Dict[str, Any]:
    return {"name": "driver", "state": {"waiting": {"reason": reason, "message": "it is so"}}}


def test_a_pod_that_does_not_end_is_told() -> None:
    """On a node that is down, where the kubelet last said that all is well."""
    running = {"containerStatuses": [{"name": "driver", "state": {"running": {}}}]}
    pod = {"metadata": {"deletionTimestamp": "2026-01-01T00:00:30Z"}, "spec": {"nodeName": "h100-3"}, "status": running}
    assert pod_trouble(pod) == "on h100-3, should have ended by 2026-01-01T00:00:30Z: is the node down?"


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({}, ""),
        ({"containerStatuses": [waiting("ContainerCreating")]}, ""),
        ({"containerStatuses": [{"name": "a", "state": {"running": {}}}]}, ""),
        (
            {"containerStatuses": [{"name": "a", "state": {}}, waiting("ImagePullBackOff")]},
            "on h100-3, container driver: ImagePullBackOff: it is so",
        ),
        (
            {"initContainerStatuses": [waiting("CrashLoopBackOff")], "containerStatuses": [waiting("PodInitializing")]},
            "on h100-3, container driver: CrashLoopBackOff: it is so",
        ),
        ({"conditions": [{"type": "PodScheduled", "status": "False", "message": "no node"}]}, "no node"),
        ({"conditions": [{"type": "PodScheduled", "status": "True"}]}, ""),
    ],
)
def test_what_a_pod_suffers_from(status: Dict[str, Any], expected: str) -> None:
    assert pod_trouble({"spec": {"nodeName": "h100-3"}, "status": status}) == expected


KEY = ObjectKey("apps", "DaemonSet", "dra", "driver")
RESOURCE = Resource("apps", "v1", "DaemonSet", "daemonsets", True, frozenset({"watch"}))
PATH = RESOURCE.path("dra", "driver")


def played(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    for module in (wait, request):
        monkeypatch.setattr(module, "time", clock)
    return clock


def wait_until(
    monkeypatch: pytest.MonkeyPatch, server: Server, client: Client, seconds: float, texts: List[str]
) -> float:
    """Wait for an object that is looked at every 20 s and then says these texts; the watch ends after three events.

    Returns how many seconds passed.
    """
    item = {"metadata": {"name": "driver", "resourceVersion": "7"}}
    event = json.dumps({"type": "MODIFIED", "object": item}).encode() + b"\n"
    server.paths = {PATH: (200, {}, item), RESOURCE.path("dra"): (200, {}, event * 3)}
    clock = played(monkeypatch)

    def judge(_key: ObjectKey, _live: Optional[Dict[str, Any]]) -> Readiness:
        clock.sleep(20)
        return Readiness(texts[0] == "ready", texts.pop(0))

    until(client, [(KEY, RESOURCE)], seconds, judge)
    return clock.now


def test_waiting_goes_on_while_there_is_progress(
    monkeypatch: pytest.MonkeyPatch, server: Server, client: Client
) -> None:
    texts = ["0 of 6 pods", "0 of 6 pods", "2 of 6 pods", "2 of 6 pods", "5 of 6 pods", "5 of 6 pods", "ready"]
    assert wait_until(monkeypatch, server, client, 50, texts) >= 140
    assert {
        query for _method, path, *_rest in server.seen for query in path.partition("?")[2].split("&")[:2] if query
    } == {
        "fieldSelector=metadata.name%3Ddriver",
        "resourceVersion=7",
    }


@pytest.mark.parametrize("before", [[], ["1 of 6 pods", "1 of 6 pods", "2 of 6 pods"]])
def test_waiting_ends_without_progress(
    monkeypatch: pytest.MonkeyPatch, server: Server, client: Client, before: List[str]
) -> None:
    stuck = ["3 of 6 pods"] * 9
    expected = "^gave up waiting after 50 s without progress, or after a failure:\nDaemonSet dra/driver: 3 of 6 pods$"
    with pytest.raises(ClusterError, match=expected):
        wait_until(monkeypatch, server, client, 50, [*before, *stuck])


def test_pods_that_crash_and_start_again_are_no_progress(
    monkeypatch: pytest.MonkeyPatch, server: Server, client: Client
) -> None:
    texts = [f"{count} of 6 pods" for count in (0, 3, 4, 5, 3, 4, 5, 4, 3, 5, 4, 3, 5)] + ["ready"]
    with pytest.raises(ClusterError, match="gave up waiting after 50 s without progress"):
        wait_until(monkeypatch, server, client, 50, texts)


def test_waiting_ends_when_an_object_failed(monkeypatch: pytest.MonkeyPatch, server: Server, client: Client) -> None:
    server.paths = {PATH: (200, {}, {"metadata": {"name": "driver", "resourceVersion": "7"}})}
    with pytest.raises(ClusterError, match=r"DaemonSet dra/driver: evicted$"):
        until(client, [(KEY, RESOURCE)], 3600, lambda _key, _live: Readiness(False, "evicted", failed=True))
    assert wait_until(monkeypatch, server, client, 50, ["ready"]) == 20


def test_events_are_judged_and_errors_among_them_are_not(
    monkeypatch: pytest.MonkeyPatch, server: Server, client: Client
) -> None:
    played(monkeypatch)
    seen: List[Optional[str]] = []

    def judge(_key: ObjectKey, live: Optional[Dict[str, Any]]) -> Readiness:
        seen.append(live["metadata"].get("resourceVersion") if live else None)
        return Readiness(seen[-1] == "9", "rolling out")

    events = [
        {"type": "MODIFIED", "object": {"metadata": {"name": "driver", "resourceVersion": "8"}}},
        {"type": "ERROR", "object": {"kind": "Status", "metadata": {}, "code": 410}},
        {"type": "MODIFIED", "object": {"metadata": {"name": "driver", "resourceVersion": "9"}}},
    ]
    text = "\n".join(json.dumps(event) for event in events)
    item = {"metadata": {"name": "driver", "resourceVersion": "7"}}
    server.paths = {PATH: (200, {}, item), RESOURCE.path("dra"): (200, {}, text.encode() + b"\n")}
    with pytest.raises(ClusterError, match="rolling out"):
        until(client, [(KEY, RESOURCE)], 1, judge)
    # What comes after the error belongs to a watch that has ended; the object is read again.
    assert set(seen) == {"7", "8"}
    assert seen[:3] == ["7", "8", "7"]
    server.paths[RESOURCE.path("dra")] = (200, {}, json.dumps(events[2]).encode() + b"\n")
    until(client, [(KEY, RESOURCE)], 1, judge)
    assert seen[-2:] == ["7", "9"]


def test_a_watch_that_is_too_old_starts_anew(monkeypatch: pytest.MonkeyPatch, server: Server, client: Client) -> None:
    played(monkeypatch)
    found: List[Optional[Dict[str, Any]]] = []

    def judge(_key: ObjectKey, live: Optional[Dict[str, Any]]) -> Readiness:
        found.append(live)
        return Readiness(len(found) == 3, "still there")

    server.paths = {PATH: status(404), RESOURCE.path("dra"): status(410, "too old resource version")}
    until(client, [(KEY, RESOURCE)], 30, judge)
    assert found == [None] * 3
    server.paths[RESOURCE.path("dra")] = status(403, "daemonsets may not be watched")
    with pytest.raises(ApiError, match="may not be watched"):
        until(client, [(KEY, RESOURCE)], 30, lambda _key, _live: Readiness(False, "absent"))
