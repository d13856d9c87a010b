# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Steps of a plan as they are carried out. Sets of objects are tried in tests/cluster; here they are a stub."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.steps import (
    CLAIMS,
    DRIVER,
    AnyStep,
    CountersStep,
    FieldsStep,
    HeldCheck,
    LabelsStep,
    LeftoversStep,
    ObjectsStep,
    RestartStep,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision import carry_out as module
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision import object_fields, pools
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ClusterError
from ansible_collections.zerocopy.rdma.tests.unit.fleet.cluster_client import Server, holding, node, pod

LABEL = "zerocopy.rdma.node-restriction.kubernetes.io/group"
LABELS = LabelsStep("Label", DRIVER, {"n1": {LABEL: "a"}, "n2": {LABEL: "a"}})
OBJECTS = ObjectsStep("Apply", DRIVER, "driver", "kube-system", [{"kind": "ConfigMap"}])
CLAIM_OBJECTS = ObjectsStep("Claims", CLAIMS, "claims", "kube-system", [{"kind": "DeviceClass"}])
BROKEN = '{"rdma.io/hca": "100"}'


class Sets:
    """Stands for :class:`Convergence`: what it is told of each set, and what was asked of it."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self.refused: set[str] = set()
        self.rejected: set[str] = set()
        self.differing: set[str] = set()
        self.predicted: dict[str, list[dict[str, Any]]] = {}
        self.unready: dict[str, dict[str, list[str]]] = {}
        self.requests: list[Any] = []

    def __call__(self, client: Any, request: Any) -> Any:
        self.requests.append(request)
        self._server.writes.append(f"try {request.name}")
        if request.name in self.refused:
            raise ClusterError("1 of 1 object rejected, nothing was applied")
        return _Set(self, self._server, request)


class _Set:
    def __init__(self, sets: Sets, server: Server, request: Any) -> None:
        self._sets, self._server, self._request = sets, server, request
        self.rejected = request.name in sets.rejected and not server.lists["/api/v1/nodes"][0]["metadata"]["labels"]

    def predicted(self) -> dict[str, Any]:
        return {"objects": self._sets.predicted.get(self._request.name, [])}

    def finish(self) -> dict[str, Any]:
        name = self._request.name
        if not self._request.check:
            self._server.writes.append(f"apply {name}")
        unready = {host: list(lines) for host, lines in self._sets.unready.get(name, {}).items()}
        return {"changed": name in self._sets.differing, "objects": [], "names": {}, "unready": unready}


@pytest.fixture(name="server")
def make_server() -> Server:
    return Server([node("n1"), node("n2")])


@pytest.fixture(name="sets")
def make_sets(server: Server, monkeypatch: pytest.MonkeyPatch) -> Sets:
    sets = Sets(server)
    monkeypatch.setattr(module, "Convergence", sets)
    return sets


def carried(server: Server, *steps: AnyStep, check: bool = False) -> dict[str, Any]:
    return module.carry_out(server, steps, check, False)  # type: ignore[arg-type]  # a stand-in


def changes(server: Server) -> list[str]:
    return [write for write in server.writes if not write.startswith("try")]


@pytest.mark.usefixtures("sets")
def test_objects_are_validated_before_nodes_get_labels(server: Server) -> None:
    """Labels bring pods, so that what the API server rejects must not be found out after them."""
    carried(server, LABELS, OBJECTS, CLAIM_OBJECTS)
    assert server.writes == [
        "try driver",
        "try claims",
        "merge /api/v1/nodes/n1",
        "merge /api/v1/nodes/n2",
        "apply driver",
    ]


REFUSING: dict[str, AnyStep] = {
    "held": HeldCheck("Check", DRIVER, {"n1": ["rdma/hca"]}),
    "objects": ObjectsStep("Apply", DRIVER, "bad", "kube-system", [{"kind": "ConfigMap"}]),
    "claims": ObjectsStep("Apply", CLAIMS, "bad", "kube-system", [{"kind": "DeviceClass"}]),
    "used": ObjectsStep("Remove", CLAIMS, "used", "kube-system", kept=["DeviceClass"]),
    "fields": FieldsStep("Fields", DRIVER, {"kind": "NicClusterPolicy"}, "us"),
    "annotation": CountersStep("Count", DRIVER, {"n2": {}}),
    "counted": CountersStep("Count", DRIVER, {"n3": {}}),
}


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("name", REFUSING)
def test_nothing_is_changed_if_any_step_is_refused(
    name: str, check: bool, sets: Sets, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fields(client: Any, request: Any) -> Any:
        assert request.check
        raise ClusterError("NicClusterPolicy x: others have this field")

    monkeypatch.setattr(object_fields, "converge", fields)
    counted = node("n3", annotation='{"rdma/counted": 5}', counted="5")
    server.lists["/api/v1/nodes"] = [node("n1", hca="1"), node("n2", annotation=BROKEN), counted]
    server.lists["/api/v1/pods"] = [holding("prefill", "n1", "rdma/hca"), holding("decode", "n3", "rdma/counted")]
    sets.refused = {"bad"}
    sets.predicted["used"] = [
        {"kind": "DeviceClass", "namespace": "", "name": "nic", "action": "kept", "reason": "pods use it"}
    ]
    restart = RestartStep("Restart", DRIVER, "kube-system", "app=dranet", ["n1"])
    server.lists["/api/v1/namespaces/kube-system/pods"] = [pod("dranet", "n1")]
    with pytest.raises(ClusterError):
        carried(server, restart, LABELS, OBJECTS, REFUSING[name], check=check)
    assert changes(server) == []


def test_what_pods_use_is_told(sets: Sets, server: Server) -> None:
    def entry(kind: str, action: str) -> dict[str, Any]:
        return {"kind": kind, "namespace": "llm", "name": "nic", "action": action, "reason": "pods use it"}

    step = ObjectsStep("Remove", CLAIMS, "used", "kube-system", kept=["ResourceClaim"])
    # Others may stay, and what is still wanted is not about to go.
    sets.predicted["used"] = [entry("ConfigMap", "kept"), entry("ResourceClaim", "unchanged")]
    carried(server, step)
    sets.predicted["used"].append(entry("ResourceClaim", "kept"))
    with pytest.raises(ClusterError, match=r"use these objects first: ResourceClaim llm.nic pods use it$"):
        carried(server, step)
    # Without pruning, nothing goes.
    carried(server, ObjectsStep("Apply", CLAIMS, "used", "kube-system", prune=False, kept=["ResourceClaim"]))


@pytest.mark.parametrize(
    ("differing", "labels", "check", "late"),
    [
        (set(), {}, False, False),
        ({"driver"}, {}, False, True),
        (set(), {LABEL: "b"}, False, True),
        # Nobody waits for drivers that check mode has not changed.
        ({"driver"}, {LABEL: "b"}, True, False),
        # What pods claim does not concern itself.
        ({"claims"}, {}, False, False),
    ],
)
def test_claims_are_left_until_changed_drivers_publish(
    differing: set[str], labels: dict[str, str], check: bool, late: bool, sets: Sets, server: Server
) -> None:
    sets.differing = differing
    steps = LabelsStep("Label", DRIVER, {"n1": labels}), OBJECTS, CLAIM_OBJECTS, CLAIM_OBJECTS
    found = carried(server, *steps, check=check)
    assert found["late"] == late
    assert [done["title"] for done in found["steps"]] == ["Label", "Apply"] + ([] if late else ["Claims"] * 2)
    assert found["changed"] == bool(differing or labels)


def test_claims_that_nothing_wants_any_more_go_whatever_the_drivers_do(sets: Sets, server: Server) -> None:
    sets.differing = {"driver"}
    found = carried(server, OBJECTS, ObjectsStep("Claims", CLAIMS, "claims", "kube-system"))
    assert found["late"] is False
    assert [done["title"] for done in found["steps"]] == ["Apply", "Claims"]


def test_objects_that_admission_rejects_are_tried_again_after_the_labels(sets: Sets, server: Server) -> None:
    sets.rejected = {"driver"}
    carried(server, LABELS, OBJECTS)
    assert server.writes[0] == "try driver"
    assert server.writes[-2:] == ["try driver", "apply driver"]


@pytest.mark.parametrize("check", [False, True])
def test_objects_that_come_before_the_labels(check: bool, sets: Sets, server: Server) -> None:
    """Check mode leaves them to the step that follows; what was tried before them is out of date."""
    leave = LabelsStep("Leave", DRIVER, {"n2": {LABEL: None}}, first=True)
    first = ObjectsStep("Update", DRIVER, "driver", "kube-system", [{"kind": "ConfigMap"}], prune=False, first=True)
    server.lists["/api/v1/nodes"][1]["metadata"]["labels"] = {LABEL: "a"}
    found = carried(server, leave, first, LabelsStep("Label", DRIVER, {"n1": {LABEL: "a"}}), OBJECTS, check=check)
    if check:
        assert server.writes == ["try driver"]
        assert [done["title"] for done in found["steps"]] == ["Label", "Apply"]
        return
    assert server.writes == [
        "try driver",
        "merge /api/v1/nodes/n2",
        "try driver",
        "apply driver",
        "merge /api/v1/nodes/n1",
        "try driver",
        "apply driver",
    ]
    assert [request.prune for request in sets.requests] == [True, False, True]


def test_every_wait_for_daemon_sets_leaves_the_others_alone(sets: Sets, server: Server) -> None:
    """A node on which they do not become ready must not keep all others from being provisioned."""
    waits = ObjectsStep("Apply", DRIVER, "driver", "kube-system", [{"kind": "DaemonSet"}], wait=True)
    other = ObjectsStep("Apply", DRIVER, "other", "kube-system", [{"kind": "DaemonSet"}], wait=True)
    sets.unready = {"driver": {"n1": ["DaemonSet a/b: not ready"]}, "other": {"n1": ["c"], "n2": ["d"]}}
    found = carried(server, waits, other)
    assert [(request.wait, request.report_nodes) for request in sets.requests] == [(True, True)] * 2
    assert found["unready"] == {"n1": ["DaemonSet a/b: not ready", "c"], "n2": ["d"]}
    carried(server, ObjectsStep("Remove", DRIVER, "driver", "kube-system", wait=True))
    assert (sets.requests[-1].present, sets.requests[-1].report_nodes) == (False, False)


@pytest.mark.usefixtures("sets")
def test_nothing_of_a_node_is_changed_whose_annotation_is_broken() -> None:
    """The labels are changed after the annotations were read, and on the other nodes only."""
    server = Server([node("n1"), node("n2", annotation=BROKEN)])
    counters = CountersStep("Count", DRIVER, {"n1": {"rdma.io/hca": 5}, "n2": {"rdma.io/hca": 5}}, keep_used=True)
    labels = LabelsStep("Label", DRIVER, LABELS.nodes, after_counters=True)
    found = carried(server, counters, labels)
    assert {write for write in server.writes if "n2" in write} == set()
    assert server.writes[-1] == "merge /api/v1/nodes/n1"
    assert list(found["broken"]) == ["n2"]
    # Other strategies' labels have nothing to do with it.
    carried(server, counters, LABELS)
    assert server.writes[-1] == "merge /api/v1/nodes/n2"


def test_nodes_that_are_not_in_the_cluster(server: Server) -> None:
    found = carried(server, LabelsStep("Label", DRIVER, {"n1": {LABEL: "a"}, "n3": {LABEL: "a"}, "n4": {LABEL: None}}))
    assert found["missing"] == ["n3"]
    assert server.writes == ["merge /api/v1/nodes/n1"]
    twice = LabelsStep("Label", DRIVER, {"n3": {LABEL: "a"}}), LabelsStep("Label", DRIVER, {"n3": {"other": "a"}})
    assert carried(server, *twice)["missing"] == ["n3"]


def leftovers(keep_used: bool) -> LeftoversStep:
    return LeftoversStep("Clean", DRIVER, {"n1": ["rdma/hca"], "n2": ["rdma/hca"]}, LABEL, keep_used)


def test_only_nodes_that_lose_their_label_are_waited_for() -> None:
    """A plugin of somebody else, with the same name of a resource, would never go."""
    nodes = [node("n1", {LABEL: "a"}, hca="1"), node("n2", hca="1")]
    server = Server(nodes)
    carried(server, LabelsStep("Label", DRIVER, {"n1": {LABEL: "a"}}), leftovers(keep_used=True))
    assert server.watched == []

    def ended() -> None:
        nodes[0]["status"] = {"capacity": {"rdma/hca": "0"}, "allocatable": {"rdma/hca": "0"}}

    server.meanwhile = ended
    found = carried(server, LabelsStep("Label", DRIVER, {"n1": {LABEL: None}}), leftovers(keep_used=True))
    assert server.watched == ["/api/v1/nodes"]
    assert found["steps"][-1]["nodes"] == {"n1": ["rdma/hca"]}
    assert found["warnings"] == ["rdma/hca is still advertised on n2: remove its device plugin first"]
    assert nodes[0]["status"] == {"capacity": {}, "allocatable": {}}
    assert nodes[1]["status"]["capacity"] == {"rdma/hca": "1"}


def test_a_plugin_that_offers_something_else_now_is_waited_for(sets: Sets, server: Server) -> None:
    """The node keeps its label. For five minutes, the kubelet writes the resource that is no longer offered."""
    nodes = server.lists["/api/v1/nodes"]
    nodes[:] = [node("n1", {LABEL: "a"}, hca="1"), node("n2", hca="1")]
    looks = [{"allocatable": "0", "capacity": "1"}, {"allocatable": "0", "capacity": "0"}]

    def next_look() -> None:
        nodes[0]["status"] = {key: {"rdma/hca": number} for key, number in looks.pop(0).items()}

    server.meanwhile = next_look
    served = replace(leftovers(keep_used=True), served=["n1"])
    # Nothing has changed, so what is offered there is somebody else's.
    carried(server, OBJECTS, served)
    assert server.watched == []
    sets.differing.add(OBJECTS.name)
    found = carried(server, OBJECTS, served)
    assert server.watched == ["/api/v1/nodes"] * 2
    assert found["steps"][-1]["nodes"] == {"n1": ["rdma/hca"]}
    assert found["warnings"] == ["rdma/hca is still advertised on n2: remove its device plugin first"]
    assert nodes[0]["status"] == {"capacity": {}, "allocatable": {}}


def test_the_removal_waits_for_every_node() -> None:
    nodes = [node("n1", {LABEL: "a"}, hca="1"), node("n2", {LABEL: "a"}, hca="1")]
    server = Server(nodes)

    def ended() -> None:
        (nodes[1] if len(server.watched) > 1 else nodes[0])["status"] = {
            "capacity": {"rdma/hca": "0"},
            "allocatable": {},
        }

    server.meanwhile = ended
    found = carried(server, leftovers(keep_used=False))
    assert len(server.watched) == 2
    assert found["steps"][-1]["nodes"] == {"n1": ["rdma/hca"], "n2": ["rdma/hca"]}


DEFINITION = {"kind": "CustomResourceDefinition", "namespace": "", "name": "ippools", "action": "pruned"}


@pytest.mark.parametrize(
    ("own", "action", "check", "removed"),
    [
        ({}, "pruned", False, True),
        ({}, "kept", False, True),
        ({}, "unchanged", False, False),
        ({}, "pruned", True, False),
        ({"prune": False}, "kept", False, False),
        ({"pools": ""}, "pruned", False, False),
    ],
)
def test_pools_go_with_their_definition(
    own: dict[str, Any],
    action: str,
    check: bool,
    removed: bool,
    sets: Sets,
    server: Server,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pools, "remove", lambda client, namespace: server.writes.append(f"pools {namespace}"))
    sets.predicted["multus"] = [{**DEFINITION, "action": action}]
    carried(server, ObjectsStep("Apply", DRIVER, "multus", "kube-system", **{"pools": "rdma", **own}), check=check)
    expected = ["pools rdma", "try multus"] if removed else []
    assert server.writes == ["try multus", *expected, *([] if check else ["apply multus"])]


def test_the_result_has_what_all_steps_have_done(server: Server) -> None:
    check = HeldCheck("Check", DRIVER, {"n1": ["rdma/hca"]})
    found = module.carry_out(server, [check, LABELS], False, True)  # type: ignore[arg-type]  # a stand-in
    # A check changes nothing, and is no step for people.
    assert [(done["title"], done["part"], done["changed"], done["nodes"]) for done in found["steps"]] == [
        ("Label", "driver", True, ["n1", "n2"])
    ]
    assert "diff" not in found["steps"][0]
    assert [entry["after"] for entry in found["diff"]] == [f"n1 {LABEL}: a\nn2 {LABEL}: a\n"]
    assert (found["changed"], found["warnings"], found["broken"], found["unready"]) == (True, [], {}, {})
    again = carried(server, check, LABELS)
    assert (again["changed"], "diff" in again) == (False, False)
    assert carried(server) == {**again, "steps": []}


def test_a_set_without_objects_of_which_nothing_may_go_stays(sets: Sets, server: Server) -> None:
    """A host that failed still needs what no other host has any more."""
    for prune in (False, True):
        carried(server, replace(OBJECTS, objects=[], prune=prune))
    assert [request.present for request in sets.requests if not request.check] == [True, False]
