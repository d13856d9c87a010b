# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Labels of leaves: what is planned of what cabling has left, and what becomes of labels that others have set.

The API server is a stand-in; with a real one, and with Kueue, they are in tests/operators/test_kueue.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.action import plan as plan_action
from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric import leaf_groups
from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric.leaf_groups import LeafGroups
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import value_rules
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan import leaf_labels
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.steps import CLAIMS, LeafLabelsStep, ObjectsStep
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision import leaf_labels as applied
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ApiError
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.strategy import ClusterState
from ansible_collections.zerocopy.rdma.tests.unit.fleet.test_cluster_action import ANSWER, Modules, task_vars
from ansible_collections.zerocopy.rdma.tests.unit.fleet.test_cluster_action import acted as act

Facts = Callable[..., dict[str, Any]]

LABEL, OTHER = "network.topology.nvidia.com/leaf", "fabric.topograph.run/tier-0"
HOSTS = ("n1", "n2", "n3", "n4")
GROUPS = LeafGroups({"n1": "leaf-1", "n2": "leaf-1"}, {"n3": "mlx5_0: leaf-9/1"}, {"n4": "mlx5_0: the NIC is in a pod"})
VALUES = {
    "rdma_set": "zerocopy-rdma",
    "rdma_parent_namespace": "kube-system",
    "rdma_provision_leaf_label": LABEL,
    "rdma_provision_kueue_topology": "",
}
NOTHING = ClusterState(kinds=(), parents=(), leaf_labelled=())
KUEUE = ClusterState(kinds=[leaf_labels.KIND], parents=(), leaf_labelled=())


def planned(cluster: ClusterState = NOTHING, groups: LeafGroups | None = GROUPS, **own: Any) -> leaf_labels.LeafPlan:
    return leaf_labels.plan(HOSTS, cluster, {**VALUES, **own}, groups)


def test_who_gets_a_label_and_who_is_named() -> None:
    found = planned()
    assert found.steps == [
        LeafLabelsStep(
            "Label the nodes with their leaves", CLAIMS, LABEL, {"n1": "leaf-1", "n2": "leaf-1"}, kept=["n4"]
        )
    ]
    assert found.warnings == [
        f"No label {LABEL}: n3 (mlx5_0: leaf-9/1)",
        f"Label {LABEL} left as it is: n4 (mlx5_0: the NIC is in a pod)",
    ]
    assert [[each["metadata"] for each in one.objects] for one in found.manifests] == [
        [{"name": name, "labels": {LABEL: "leaf-1"}} for name in ("n1", "n2")],
        [],
    ]


def test_a_node_that_the_file_lacks_or_that_has_failed_stays_as_it_is() -> None:
    found = leaf_labels.plan([*HOSTS, "n5"], NOTHING, VALUES, GROUPS, failed=["n1"])
    (step,) = found.steps
    assert isinstance(step, LeafLabelsStep)
    assert (dict(step.nodes), list(step.kept)) == ({"n2": "leaf-1"}, ["n1", "n4", "n5"])
    assert found.warnings[-1] == f"Label {LABEL} left as it is: n5, which the file of rdma_cabling_json does not have"


def test_where_nothing_is_known_nothing_is_planned() -> None:
    found = planned(groups=None)
    assert (found.steps, [one.name for one in found.manifests]) == ([], ["kueue-topology.yaml"])


@pytest.mark.parametrize("labelled", [None, ["n1"]])
def test_without_the_variable_labels_of_ours_are_removed(labelled: Sequence[str] | None) -> None:
    state = ClusterState(parents=[("kube-system", "zerocopy-rdma-topology")], leaf_labelled=labelled)
    (step, topology) = planned(state, None, rdma_provision_leaf_label="").steps
    assert (step, topology) == (
        LeafLabelsStep("Remove the labels of leaves from nodes", CLAIMS),
        ObjectsStep("Remove Kueue's Topology", CLAIMS, "zerocopy-rdma-topology", "kube-system"),
    )
    assert leaf_labels.removal(state, VALUES) == [topology, step]
    assert planned(NOTHING, None, rdma_provision_leaf_label="").steps == []
    assert leaf_labels.removal(NOTHING, VALUES) == []


def test_the_topology_of_kueue() -> None:
    (_labels, step) = planned(KUEUE, rdma_provision_kueue_topology="rdma").steps
    assert isinstance(step, ObjectsStep)
    (item,) = step.objects
    assert item["spec"]["levels"] == [{"nodeLabel": LABEL}, {"nodeLabel": "kubernetes.io/hostname"}]
    assert (item["metadata"], step.prune, step.wait) == ({"name": "rdma"}, True, False)
    # Where nobody asks for labels, there is none.
    found = planned(NOTHING, rdma_provision_kueue_topology="rdma")
    assert len(found.steps) == 1
    assert found.warnings[-1] == (
        "rdma_provision_kueue_topology is rdma, but the API server has no Topology.kueue.x-k8s.io, so there is none: "
        "install Kueue 0.15 or newer, and run this again"
    )
    # Without a cluster there is nobody to ask.
    manifests = planned(ClusterState(), rdma_provision_kueue_topology="rdma").manifests
    assert [len(one.objects) for one in manifests] == [2, 1]


@pytest.mark.parametrize(
    ("own", "wrong"),
    [
        ({"rdma_provision_leaf_label": LABEL}, ""),
        ({"rdma_provision_leaf_label": OTHER, "rdma_provision_kueue_topology": "rdma"}, ""),
        ({"rdma_provision_leaf_label": "notkubernetes.io/leaf"}, ""),
        ({"rdma_provision_leaf_label": "leaf"}, "must be the key of a label"),
        ({"rdma_provision_leaf_label": "kubernetes.io/hostname"}, "must be the key of a label"),
        ({"rdma_provision_leaf_label": "zerocopy.rdma.node-restriction.kubernetes.io/group"}, "must be the key"),
        ({"rdma_provision_leaf_label": f"a/{'x' * 64}"}, "must be the key of a label"),
        ({"rdma_provision_kueue_topology": "rdma"}, "needs rdma_provision_leaf_label"),
        (
            {"rdma_provision_leaf_label": LABEL, "rdma_provision_kueue_topology": "Rdma"},
            "must be the name of an object",
        ),
    ],
)
def test_values_that_cannot_be_are_refused(own: dict[str, str], wrong: str) -> None:
    found = [problem.text for problem in value_rules.of_leaves(own)]
    assert len(found) == (1 if wrong else 0)
    assert all(wrong in text for text in found)


# What the action reads.


def fleet(facts_of: Facts, tmp_path: Path, text: str | None, **own: Any) -> dict[str, Any]:
    if text is not None:
        (tmp_path / "cabling.json").write_text(text)
    path = {"rdma_cabling_json": str(tmp_path / "cabling.json"), "rdma_provision_leaf_label": LABEL}
    facts = {"rdma_strategy": "none", "ansible_facts": {"rdma": facts_of("v100-01")}}
    return task_vars(n1={**facts, **path, **own})


def document(**groups: Any) -> str:
    every = {"values": {"n1": "leaf-1"}, "without": {}, "unseen": {}}
    return json.dumps({"version": 1, "leaf_groups": {**every, **groups}})


def leaf_steps(found: dict[str, Any]) -> list[Any]:
    plan = json.loads((Path(found["directory"]) / "cluster.json").read_text())
    return [step for step in plan["steps"] if step["kind"] == "leaf_labels"]


def test_the_plan_has_what_cabling_has_found(facts_of: Facts, tmp_path: Path) -> None:
    modules = Modules(ANSWER)
    found = act(plan_action, modules, fleet(facts_of, tmp_path, document()))
    assert (found["problems"], found["warnings_shown"]) == ([], [])
    assert [step["nodes"] for step in leaf_steps(found)] == [{"n1": "leaf-1"}]
    assert leaf_labels.KIND in modules.called[0]["kinds"]
    assert {"name": "zerocopy-rdma-topology", "namespace": "kube-system"} in modules.called[0]["sets"]
    # A role of one strategy leaves it alone, and so does who has not asked for it.
    only = act(plan_action, Modules(ANSWER), fleet(facts_of, tmp_path, document()), strategies=["dra"])
    without = fleet(facts_of, tmp_path, document(), rdma_provision_leaf_label="")
    assert leaf_steps(only) == leaf_steps(act(plan_action, Modules(ANSWER), without)) == []


@pytest.mark.parametrize(
    ("text", "own", "why"),
    [
        (None, {}, "there is no file "),
        (document(), {"rdma_cabling_json": ""}, "rdma_cabling_json is not set"),
    ],
)
def test_without_the_file_it_is_said_what_to_do_first(
    facts_of: Facts, tmp_path: Path, text: str | None, own: dict[str, Any], why: str
) -> None:
    found = act(plan_action, Modules({**ANSWER, "leaf_labelled": ["n1"]}), fleet(facts_of, tmp_path, text, **own))
    (said,) = found["warnings_shown"]
    assert why in said
    assert "run zerocopy.rdma.cabling with rdma_cabling_json set" in said
    assert (found["problems"], leaf_steps(found)) == ([], [])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "Expecting"),
        ("[]", "it has no leaf_groups"),
        ('{"version": 1, "ports": []}', "it has no leaf_groups"),
        (document().replace('"version": 1', '"version": 99'), "update the collection"),
        (document(values=["n1"]), "leaf_groups.values must be text by host"),
        (document(without={"n1": 5}), "leaf_groups.without must be text by host"),
        (document(values={"n1": "no value"}), "'no value' of n1, which is no label value"),
    ],
)
def test_a_file_that_cannot_be_used_stops_the_run(facts_of: Facts, tmp_path: Path, text: str, why: str) -> None:
    found = act(plan_action, Modules(ANSWER), fleet(facts_of, tmp_path, text))
    (problem,) = found["problems"]
    assert "which cannot be used" in problem
    assert why in problem


def test_what_was_written_is_read() -> None:
    assert leaf_groups.read(json.loads(json.dumps(vars(GROUPS)))) == GROUPS


# What becomes of labels.


class Nodes:
    """An API server with nodes that applies labels as server-side apply does, for a single manager of each label."""

    def __init__(self, *names: str) -> None:
        self.items: dict[str, dict[str, Any]] = {
            name: {"metadata": {"name": name, "uid": f"uid-{name}", "resourceVersion": "1", "labels": {}}}
            for name in names
        }
        self.writes: list[str] = []
        self.meanwhile: Callable[[], None] = lambda: None

    def get(self, path: str, accept: str) -> dict[str, Any]:
        assert path == "/api/v1/nodes"
        return {"items": json.loads(json.dumps(list(self.items.values())))}

    def find(self, path: str) -> dict[str, Any] | None:
        self.meanwhile()
        found = self.items.get(path.rpartition("/")[2])
        return json.loads(json.dumps(found)) if found else None

    def all(self, call: Callable[[str], Any], names: Sequence[str]) -> list[Any]:
        return [call(name) for name in names]

    def apply(self, path: str, item: dict[str, Any], query: dict[str, str]) -> None:
        name = path.rpartition("/")[2]
        meta = self.items[name]["metadata"]
        assert (query, item["metadata"]["uid"]) == ({"fieldManager": applied.MANAGER, "force": "false"}, meta["uid"])
        if item["metadata"]["resourceVersion"] != meta["resourceVersion"]:
            raise ApiError(409, {"message": "the object has been modified"})
        self.writes.append(name)
        self.sets(name, applied.MANAGER, item["metadata"]["labels"], "Apply")

    def sets(self, name: str, manager: str, labels: dict[str, str], operation: str = "Update") -> None:
        """Somebody sets labels: an applier loses those that it does not name, and all others these."""
        meta = self.items[name]["metadata"]
        entries: dict[str, Any] = {entry["manager"]: entry for entry in meta.get("managedFields", [])}
        own = set(labels)
        for other, entry in entries.items():
            fields = entry["fieldsV1"]["f:metadata"]["f:labels"]
            if other == manager and operation == "Apply":
                for gone in set(fields) - {f"f:{label}" for label in own}:
                    meta["labels"].pop(gone[2:], None)
            elif other != manager:
                for label in own:
                    fields.pop(f"f:{label}", None)
        set_now: dict[str, Any] = {"f:metadata": {"f:labels": {f"f:{label}": {} for label in own}}}
        entries[manager] = {"manager": manager, "operation": operation, "fieldsV1": set_now}
        meta["managedFields"] = [entry for entry in entries.values() if entry["fieldsV1"]["f:metadata"]["f:labels"]]
        meta["labels"].update(labels)
        meta["resourceVersion"] = str(int(meta["resourceVersion"]) + 1)

    @property
    def labels(self) -> dict[str, dict[str, str]]:
        return {name: item["metadata"]["labels"] for name, item in self.items.items() if item["metadata"]["labels"]}


def applied_to(nodes: Nodes, labels: dict[str, str], key: str = LABEL, check: bool = False, **own: Any) -> Any:
    nodes.writes.clear()
    return applied.converge(nodes, LeafLabelsStep("Leaves", CLAIMS, key, labels, **own), check)  # type: ignore[arg-type]


def test_labels_are_set_changed_and_taken_back() -> None:
    nodes = Nodes("n1", "n2", "n3")
    wanted = {"n1": "leaf-1", "n2": "leaf-1"}
    tried = applied_to(nodes, wanted, check=True)
    assert (tried["changed"], nodes.writes) == (True, [])
    done = applied_to(nodes, wanted)
    assert (done, nodes.labels) == (tried, {"n1": {LABEL: "leaf-1"}, "n2": {LABEL: "leaf-1"}})
    assert done["diff"][0]["after"] == f"n1 {LABEL}: leaf-1\nn2 {LABEL}: leaf-1\n"
    again = applied_to(nodes, wanted)
    assert (again["changed"], again["nodes"], again["diff"], nodes.writes) == (False, [], [], [])
    # A node of which nothing is known keeps what it has, one with a wrong cable loses it.
    applied_to(nodes, {}, kept=["n1"])
    assert nodes.labels == {"n1": {LABEL: "leaf-1"}}
    # Another key.
    applied_to(nodes, {"n1": "leaf-2", "n3": "leaf-2"}, key=OTHER)
    assert nodes.labels == {"n1": {OTHER: "leaf-2"}, "n3": {OTHER: "leaf-2"}}
    done = applied_to(nodes, {}, key="")
    assert (done["nodes"], nodes.labels) == (["n1", "n3"], {})
    assert done["diff"][0]["after"] == ""


def test_labels_of_others_are_left_and_named() -> None:
    nodes = Nodes("n1", "n2")
    nodes.sets("n1", "topograph", {LABEL: "S-1", "a": "b"})
    wanted = {"n1": "leaf-1", "n2": "leaf-1"}
    done = applied_to(nodes, wanted)
    assert (done["nodes"], nodes.labels["n1"][LABEL]) == (["n2"], "S-1")
    assert done["warnings"] == [
        f"n1 ({LABEL}=S-1 of topograph): others have set this label, so it was left as it is: "
        "remove it there, or do without ours"
    ]
    # One of ours that somebody else has changed is theirs.
    nodes.sets("n2", "topograph", {LABEL: "S-2"})
    assert applied_to(nodes, wanted)["nodes"] == []
    applied_to(nodes, {}, key="")
    assert nodes.labels == {"n1": {LABEL: "S-1", "a": "b"}, "n2": {LABEL: "S-2"}}


def test_a_label_that_nobody_remembers_is_not_ours() -> None:
    nodes = Nodes("n1")
    nodes.items["n1"]["metadata"]["labels"][LABEL] = "leaf-1"
    done = applied_to(nodes, {"n1": "leaf-1"})
    assert (done["changed"], done["warnings"][0].partition(":")[0]) == (False, f"n1 ({LABEL}=leaf-1 of somebody else)")


def test_what_others_set_at_this_moment_is_left_as_well() -> None:
    nodes = Nodes("n1", "n2")

    def meanwhile() -> None:
        nodes.meanwhile = lambda: None
        nodes.sets("n1", "topograph", {LABEL: "S-1"})

    nodes.meanwhile = meanwhile
    done = applied_to(nodes, {"n1": "leaf-1", "n2": "leaf-1"})
    assert (done["nodes"], nodes.labels["n1"]) == (["n2"], {LABEL: "S-1"})


def test_a_node_that_is_not_there_or_goes_is_named() -> None:
    nodes = Nodes("n1", "n2")

    def meanwhile() -> None:
        nodes.items.pop("n1", None)

    nodes.meanwhile = meanwhile
    done = applied_to(nodes, {"n1": "leaf-1", "n2": "leaf-1", "n9": "leaf-1"})
    assert (done["nodes"], nodes.labels) == (["n2"], {"n2": {LABEL: "leaf-1"}})
    assert done["warnings"] == [f"n[1,9]: no label {LABEL}, because the cluster has no such node"]
