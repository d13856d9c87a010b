# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What an audit asks of an API server, and what it does with answers that are none."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ApiError, ClusterError
from ansible_collections.zerocopy.rdma.tests.unit._migrate import audit_manifests
from ansible_collections.zerocopy.rdma.tests.unit._migrate.audit_manifests import (
    Server,
    audited,
    deployments,
    named,
    node,
)


def test_one_pass_of_lists_for_any_number_of_workloads() -> None:
    few, many = Server([*deployments(5), node("n1")]), Server([*deployments(500), node("n1")])
    assert len(audited([], few)["workloads"]) == 5
    assert len(audited([], many)["workloads"]) == 500
    assert many.asked == few.asked == ["/apis/apps/v1/deployments?limit=500", "/api/v1/nodes?limit=500"]


def test_pages() -> None:
    server = Server(deployments(1201))
    assert len(audited([], server)["workloads"]) == 1201
    first = "/apis/apps/v1/deployments?limit=500"
    assert server.asked == [first, f"{first}&continue=500", f"{first}&continue=1000"]


def test_pages_that_expire_are_read_anew() -> None:
    class Slow(Server):
        expired = 1

        def get(self, path: str, query: Any = None, accept: str = "") -> Any:
            if query and "continue" in query and self.expired:
                self.expired -= 1
                raise ApiError(410, {"message": "The provided continue parameter is too old", "reason": "Expired"})
            return super().get(path, query, accept)

    server = Slow(deployments(600))
    assert len(audited([], server)["workloads"]) == 600
    first = "/apis/apps/v1/deployments?limit=500"
    assert server.asked == [first, first, f"{first}&continue=500"]
    server = Slow(deployments(600))
    server.expired = 2
    (unseen,) = audited([], server)["unseen"]
    assert unseen["why"] == "The provided continue parameter is too old"


def test_finished_pods_and_the_cluster_s_certificate_are_not_asked_for() -> None:
    server = Server([named("debug"), named("npd-nic-checks")])
    audited([], server)
    assert sorted(server.asked) == [
        "/api/v1/configmaps?fieldSelector=metadata.name%21%3Dkube-root-ca.crt&limit=500",
        "/api/v1/pods?fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed&limit=500",
    ]


def test_what_may_not_be_listed_is_told() -> None:
    server = Server([named("debug"), named("decode"), named("deepseek")])
    server.refused["/api/v1/pods"] = ApiError(403, {"message": "pods is forbidden"})
    path = "/apis/leaderworkerset.x-k8s.io/v1/leaderworkersets"
    server.refused[path] = ClusterError("https://localhost: timed out")
    result = audited([], server)
    assert [one["name"] for one in result["workloads"]] == ["decode"]
    assert result["unseen"] == [
        {"what": "leaderworkersets.leaderworkerset.x-k8s.io", "why": "https://localhost: timed out"},
        {"what": "pods", "why": "pods is forbidden"},
    ]
    assert "Not looked at:\n  leaderworkersets" in result["text"]


def test_pods_of_what_may_not_be_listed_speak_for_it() -> None:
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "trainer", "uid": "1", "controller": True}
    made = audit_manifests.pod(metadata={"name": "trainer-0", "ownerReferences": [owner]})
    server = Server([named("trainer"), made])
    assert [one["pods"] for one in audited([], server)["workloads"]] == [0]
    server.refused["/apis/apps/v1/statefulsets"] = ApiError(403, {"message": "statefulsets is forbidden"})
    (workload,) = audited([], server)["workloads"]
    assert (workload["kind"], workload["name"], workload["pods"]) == ("StatefulSet", "trainer", 1)


def test_pods_of_deployments_are_not_told_twice_where_replica_sets_may_not_be_listed() -> None:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "decode-1", "uid": "1", "controller": True}
    made = audit_manifests.pod(metadata={"name": "decode-1-a", "ownerReferences": [owner]})
    assert [one["name"] for one in audited([named("decode"), made])["workloads"]] == ["decode"]


def test_some_namespaces() -> None:
    server = Server([*deployments(3), node("n1")])
    result = audited([], server, namespaces=["team-0", "team-2"])
    assert [one["namespace"] for one in result["workloads"]] == ["team-0", "team-2"]
    assert server.asked == [
        "/apis/apps/v1/namespaces/team-0/deployments?limit=500",
        "/apis/apps/v1/namespaces/team-2/deployments?limit=500",
        "/api/v1/nodes?limit=500",
    ]


_JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for step, inner in steps for place in _places(inner, (*path, step)))]


# How long it takes to draw an example is up to the machine.
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_objects_of_any_shape_do_not_stop_an_audit(data: st.DataObject) -> None:
    items = [*audit_manifests.objects(), node("n1", capacity={"rdma/ib": "1"}, allocatable={})]
    changed = items[data.draw(st.integers(0, len(items) - 1))]
    places = [place for place in _places(changed) if place and place[0] not in ("apiVersion", "kind")]
    name = changed["metadata"]["name"]
    *steps, last = data.draw(st.sampled_from(places))
    here: Any = changed
    for step in steps:
        here = here[step]
    here[last] = data.draw(_JUNK)
    result = audited(items)
    json.dumps(result)
    # Nothing of the others is lost.
    assert {one["name"] for one in result["workloads"]} >= {"decode", "trainer", "debug"} - {name}


@pytest.mark.parametrize("answer", [{}, {"items": None}, {"items": ["x", None]}, {"items": {}, "metadata": None}])
def test_lists_of_any_shape(answer: Any) -> None:
    class Odd(Server):
        def get(self, path: str, query: Any = None, accept: str = "") -> Any:
            return copy.deepcopy(answer) if path.endswith("deployments") else super().get(path, query, accept)

    assert audited([], Odd([named("decode")]))["workloads"] == []
