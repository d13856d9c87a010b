# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Which pods a move ends, and what it does when one of them may not be evicted."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.nodes.drain import drain
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.nodes.look import MoveStep, MovingNode
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ApiError, ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client
from ansible_collections.zerocopy.rdma.tests.unit._migrate.nodes.moving_node import NODE, PlayedNode, pod
from ansible_collections.zerocopy.rdma.tests.unit._provision.api_server import Server, status

OURS = "zerocopy.rdma.node-restriction.kubernetes.io/shared-device"
PLUGIN = "ghcr.io/mellanox/k8s-rdma-shared-dev-plugin:v1.5.3"
BUDGET = "The disruption budget keep needs 1 healthy pods and has 1 currently"


def refused(*causes: dict[str, Any]) -> Any:
    """As the API server does because of a PodDisruptionBudget."""
    message = "Cannot evict pod as it would violate the pod's disruption budget."
    return status(429, message, "TooManyRequests", causes=list(causes))


BLOCKED = refused({"reason": "DisruptionBudget", "message": BUDGET})


def drained(
    server: Server, client: Client, played: PlayedNode, evict: str = "managed", timeout: float = 0
) -> list[str]:
    server.decide = played
    return drain(MovingNode(client, MoveStep(NODE, ours=[OURS], evict=evict, timeout=timeout)))


def asked(played: PlayedNode) -> list[str]:
    return [eviction["metadata"]["name"] for eviction in played.evictions]


def test_only_running_users_of_nics_are_evicted(server: Server, client: Client) -> None:
    stay = [
        pod("web", "ReplicaSet", rdma=False),
        pod("old", "Job", phase="Succeeded"),
        pod("broken", "Job", phase="Failed"),
        pod("plugin", "DaemonSet", rdma=False, selector={OURS: "v100"}),
        pod("theirs", "DaemonSet", rdma=False, image=PLUGIN),
        pod("static", "Node", rdma=False),
    ]
    played = PlayedNode([*stay, pod("b", "ReplicaSet"), pod("a", "StatefulSet", namespace="train")])
    assert drained(server, client, played, timeout=60) == ["llm/b", "train/a"]
    assert list(played.pods) == [item["metadata"]["name"] for item in stay]
    # A pod that has come back under its name meanwhile is not this one.
    assert [(eviction["kind"], eviction["deleteOptions"]) for eviction in played.evictions] == [
        ("Eviction", {"preconditions": {"uid": f"uid-{name}"}}) for name in ("b", "a")
    ]
    assert drained(server, client, PlayedNode(stay)) == []


@pytest.mark.parametrize(("evict", "evicted"), [("managed", ["managed"]), ("all", ["managed", "bare"]), ("none", [])])
def test_who_is_evicted_and_who_is_awaited(evict: str, evicted: list[str], server: Server, client: Client) -> None:
    ending = pod("ending", "ReplicaSet", deletionTimestamp="2026-01-01T00:00:00Z")
    played = PlayedNode([pod("managed", "ReplicaSet"), pod("bare"), ending])
    with pytest.raises(ClusterError) as error:
        drained(server, client, played, evict)
    assert asked(played) == evicted
    states = {name: "is ending" if name in (*evicted, "ending") else "has not ended" for name in ("managed", "bare")}
    assert str(error.value) == (
        f"n1: llm/managed (ReplicaSet llm/of-managed): rdma/a: {states['managed']}; llm/bare: rdma/a: {states['bare']};"
        " llm/ending (ReplicaSet llm/of-ending): rdma/a: is ending (waited 0 s)"
    )


def test_a_budget_is_asked_again_until_it_allows_the_eviction(server: Server, client: Client) -> None:
    played = PlayedNode([pod("free", "ReplicaSet"), pod("kept", "ReplicaSet")])
    played.refuse["kept"] = [BLOCKED, BLOCKED]
    assert drained(server, client, played, timeout=60) == ["llm/free", "llm/kept"]
    assert asked(played) == ["free", "kept", "kept", "kept"]


@pytest.mark.parametrize(
    ("refusal", "why"),
    [
        (BLOCKED, BUDGET),
        (refused({"message": "one"}, {"message": ""}, {}, {"message": "two"}), "one; two"),
        (refused({"reason": "DisruptionBudget"}), "Cannot evict pod as it would violate the pod's disruption budget."),
    ],
)
def test_what_is_in_the_way_of_an_eviction_is_told(refusal: Any, why: str, server: Server, client: Client) -> None:
    played = PlayedNode([pod("kept", "ReplicaSet")])
    played.refuse["kept"] = [refusal]
    with pytest.raises(ClusterError) as error:
        drained(server, client, played)
    assert str(error.value) == f"n1: llm/kept (ReplicaSet llm/of-kept): rdma/a: {why} (waited 0 s)"


@pytest.mark.parametrize("code", [404, 409])
def test_a_pod_that_went_by_itself_is_no_error(code: int, server: Server, client: Client) -> None:
    played = PlayedNode([pod("gone", "ReplicaSet")])
    played.refuse["gone"] = [status(code)]
    with pytest.raises(ClusterError, match="rdma/a: is ending"):
        drained(server, client, played)


def test_an_eviction_that_is_forbidden_ends_the_step(server: Server, client: Client) -> None:
    played = PlayedNode([pod("kept", "ReplicaSet")])
    played.refuse["kept"] = [status(403, "pods/eviction is forbidden")]
    with pytest.raises(ApiError, match="pods/eviction is forbidden"):
        drained(server, client, played)
