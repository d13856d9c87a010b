# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Which labels each step of a move takes and gives, and whose pods it waits for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.nodes import steps
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.nodes.look import MoveStep
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.nodes.use import ANNOTATION, Mark
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client
from ansible_collections.zerocopy.rdma.tests.unit._migrate.nodes.moving_node import NODE, RESOURCE, PlayedNode, pod
from ansible_collections.zerocopy.rdma.tests.unit._provision.api_server import Server

OLD, NEW, THIRD = (
    "zerocopy.rdma.node-restriction.kubernetes.io/shared-device",
    "zerocopy.rdma.node-restriction.kubernetes.io/group",
    "zerocopy.rdma.node-restriction.kubernetes.io/host-device",
)
OURS, THEIRS, AWAY = [NEW, OLD, THIRD], "example.org/rdma", "example.org/no-rdma"
PLUGIN = "ghcr.io/mellanox/k8s-rdma-shared-dev-plugin:v1.5.3"


def step(**options: Any) -> MoveStep:
    return MoveStep(NODE, **{"to": "dra", "ours": OURS, "timeout": 0, **options})


def marked(played: PlayedNode, mark: Mark) -> PlayedNode:
    """The same in the middle of a move."""
    for part, own in mark.metadata().items():
        played.node["metadata"][part].update(own)
    played.node["spec"]["unschedulable"] = True
    return played


def mark_of(played: PlayedNode) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(played.node["metadata"]["annotations"][ANNOTATION])
    return found


def test_the_old_way_loses_its_labels_and_what_they_were_is_kept(server: Server, client: Client) -> None:
    server.decide = played = PlayedNode(labels={OLD: "v100", THEIRS: "yes", "other": "label"})
    off = step(labels={OLD: None, THIRD: None, THEIRS: None, AWAY: "true"})
    assert steps.predicted(client, off, "off") == {"changed": True, "evicted": []}
    assert steps.off(client, off) == {"changed": True, "evicted": []}
    assert played.labels == {AWAY: "true", "other": "label"}
    assert played.node["spec"] == {"unschedulable": True}
    before = {NEW: None, OLD: "v100", THIRD: None, THEIRS: "yes", AWAY: None}
    assert (mark_of(played)["labels"], mark_of(played)["unschedulable"]) == (before, False)
    # A run that goes on from there takes nothing for what the node was before.
    written = len(played.written)
    assert steps.predicted(client, off, "off")["changed"] is False
    assert steps.off(client, off)["changed"] is False
    assert (len(played.written), mark_of(played)["labels"]) == (written, before)
    back = steps.back(client, off)
    assert (back["changed"], back["warnings"]) == (True, [])
    assert played.node["metadata"]["labels"] == {OLD: "v100", THEIRS: "yes", "other": "label"}
    assert (played.node["spec"], played.node["metadata"]["annotations"]) == ({}, {})


def test_whose_pods_the_old_way_waits_for(server: Server, client: Client) -> None:
    placed = [
        pod("old", "DaemonSet", rdma=False, selector={OLD: "v100"}),
        pod("done", "DaemonSet", rdma=False, selector={OLD: "v100"}, phase="Succeeded"),
        # It stays: its label is one that the step gives.
        pod("given", "DaemonSet", rdma=False, selector={THIRD: "v100"}),
        # Whatever else runs by a label of somebody else is not to go with it, but for what hands out NICs.
        pod("neighbour", "DaemonSet", rdma=False, selector={THEIRS: "yes"}),
        pod("theirs", "DaemonSet", rdma=False, selector={THEIRS: "yes"}, image=PLUGIN),
        # No DaemonSet takes it away.
        pod("web", "ReplicaSet", rdma=False, selector={OLD: "v100"}),
    ]
    server.decide = PlayedNode(placed, {OLD: "v100", THEIRS: "yes"}, offered="63")
    off = step(labels={OLD: None, THIRD: "v100", THEIRS: None})
    with pytest.raises(ClusterError) as error:
        steps.off(client, off)
    assert str(error.value) == "n1: llm/old has not ended; llm/of-theirs is still there (waited 0 s)"
    server.decide = PlayedNode(placed[1:4], {OLD: "v100", THEIRS: "yes"}, offered="63")
    with pytest.raises(ClusterError) as error:
        steps.off(client, off)
    assert str(error.value) == f"n1: {RESOURCE} is still offered by a device plugin (waited 0 s)"


def test_what_has_come_already_is_not_taken_away(server: Server, client: Client) -> None:
    off = step(labels={OLD: None, THIRD: None})
    come = [pod("new", "DaemonSet", rdma=False, selector={NEW: "v100"}), pod("user", "ReplicaSet")]
    server.decide = played = marked(PlayedNode(come, {NEW: "v100"}, offered="63"), Mark("dra", False, {OLD: "v100"}))
    assert steps.predicted(client, off, "off")["changed"] is False
    steps.off(client, off)
    assert (played.evictions, played.labels) == ([], {NEW: "v100"})
    # With a label of the old way as well, a run was killed between the two.
    server.decide = played = marked(PlayedNode([pod("user", "ReplicaSet")], {NEW: "v100", OLD: "v100"}), Mark("dra"))
    assert steps.predicted(client, off, "off")["changed"] is True
    with pytest.raises(ClusterError, match=r"llm/user .* is ending"):
        steps.off(client, off)


@pytest.mark.parametrize(
    ("pods", "problem"),
    [
        ([], "no pod of it is ready"),
        ([pod("new", "DaemonSet", rdma=False, selector={NEW: "v100"})], "no pod of it is ready"),
        ([pod("old", "DaemonSet", rdma=False, selector={OLD: "v100"}, ready=True)], "no pod of it is ready"),
        ([pod("new", "DaemonSet", rdma=False, selector={NEW: "v100"}, ready=True)], ""),
    ],
)
def test_the_new_way_gets_its_label_and_works_when_its_pod_is_ready(
    pods: list[dict[str, Any]], problem: str, server: Server, client: Client
) -> None:
    server.decide = played = marked(PlayedNode(pods, {"other": "label"}), Mark("dra"))
    on = step(labels={NEW: "v100"}, status={"pods": True, "drivers": [], "resources": {}})
    assert steps.predicted(client, on, "on")["changed"] is True
    if problem:
        with pytest.raises(ClusterError, match=f"n1: dra does not work yet: {problem}"):
            steps.on(client, on)
    else:
        assert steps.on(client, on) == {"changed": True, "evicted": []}
        assert steps.on(client, on)["changed"] is steps.predicted(client, on, "on")["changed"] is False
    assert played.labels == {NEW: "v100", "other": "label"}


def test_what_the_new_way_does_not_show_yet_is_told(server: Server, client: Client) -> None:
    server.decide = marked(PlayedNode(offered="62"), Mark("dra"))
    status = {"pods": False, "drivers": ["dra.net"], "resources": {RESOURCE: 63, "rdma/b": 1}}
    with pytest.raises(ClusterError) as error:
        steps.on(client, step(labels={NEW: "v100"}, status=status))
    said = f"{RESOURCE} is 62, not 63, rdma/b is 0, not 1, dra.net publishes no device"
    assert str(error.value) == f"n1: dra does not work yet: {said} (waited 0 s)"


def test_nothing_comes_to_a_node_that_does_not_move(server: Server, client: Client) -> None:
    server.decide = played = PlayedNode(labels={OLD: "v100"})
    with pytest.raises(ClusterError, match="no move is under way here"):
        steps.on(client, step(labels={NEW: "v100"}))
    for name in ("done", "back"):
        assert steps.predicted(client, step(), name)["changed"] is False
        assert steps.STEPS[name](client, step())["changed"] is False
    assert (played.written, played.labels) == ([], {OLD: "v100"})


def test_only_what_is_of_the_plan_is_put_back(server: Server, client: Client) -> None:
    """A label that was given by hand, or by another inventory; one of a resource that is not RDMA."""
    mark = Mark("dra", False, {OLD: "v100", THEIRS: "yes", "other": "1"}, {RESOURCE: 63, "example.org/gpu": 8})
    server.decide = played = marked(PlayedNode(), mark)
    found = steps.back(client, step(labels={THEIRS: None}))
    assert played.node["metadata"]["labels"] == {OLD: "v100", THEIRS: "yes"}
    assert played.node["status"]["capacity"] == {RESOURCE: "63"}
    assert found["warnings"] == [
        "n1: other is not put back, because it is not part of the plan",
        "n1: example.org/gpu is not put back, because it is not part of the plan",
    ]


def test_the_way_back_waits_only_for_what_has_come(server: Server, client: Client) -> None:
    mark = Mark("dra", True, {OLD: "v100", NEW: None})
    there = [
        pod("new", "DaemonSet", rdma=False, selector={NEW: "v100"}),
        pod("old", "DaemonSet", rdma=False, selector={OLD: "v100"}),
    ]
    server.decide = played = marked(PlayedNode(there, {NEW: "v100", OLD: "v100"}), mark)
    with pytest.raises(ClusterError) as error:
        steps.back(client, step())
    assert str(error.value) == "n1: llm/new has not ended (waited 0 s)"
    del played.pods["new"]
    assert steps.back(client, step())["changed"] is True
    assert (played.labels, played.node["metadata"]["annotations"]) == ({OLD: "v100"}, {})
    # An admin had cordoned it.
    assert played.node["spec"] == {"unschedulable": True}
