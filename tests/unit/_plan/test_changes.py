# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What a second plan of a run says of its difference from the first."""

from __future__ import annotations

from typing import Any

from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.changes import changes
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.steps import (
    CLAIMS,
    DRIVER,
    CountersStep,
    FieldsStep,
    LabelsStep,
    LeafLabelsStep,
    ObjectsStep,
    RestartStep,
)

LABEL = "zerocopy.rdma.node-restriction.kubernetes.io/group"


def objects(*items: tuple[str, Any], first: bool = False) -> ObjectsStep:
    members = [
        {"kind": "ConfigMap", "metadata": {"name": name, "namespace": "rdma"}, "data": data} for name, data in items
    ]
    return ObjectsStep("Apply", CLAIMS, "set", "rdma", members, first=first)


def test_objects_that_are_new_or_gone_or_another_are_named() -> None:
    first = [objects(("a", 1), ("b", 1), ("c", 1))]
    assert changes(first, [objects(("d", 1), ("c", 2), ("a", 1))]) == [
        "ConfigMap rdma/b: no longer planned",
        "ConfigMap rdma/c: planned otherwise than before",
        "ConfigMap rdma/d: not planned before",
    ]
    assert changes(first, [objects(("b", 1), ("a", 1)), objects(("c", 1))]) == []
    # The step that follows has them all.
    assert changes(first, [objects(("a", 2), first=True), *first]) == []


def test_nodes_are_folded() -> None:
    first = [LabelsStep("Label", DRIVER, {"n1": {LABEL: "v100"}, "n2": {LABEL: None}, "n3": {LABEL: "v100"}})]
    second = [LabelsStep("Label", DRIVER, {"n1": {LABEL: "v100"}, "n4": {LABEL: "v100"}, "n5": {LABEL: "v100"}})]
    assert changes(first, second) == [
        f"{LABEL} of n3: no longer planned",
        f"{LABEL} of n[4-5]: not planned before",
    ]
    counted = [CountersStep("Count", DRIVER, {"n1": {"rdma/nics": number}}) for number in (8, 7)]
    assert changes(counted[:1], counted[1:]) == ["rdma/nics of n1: planned otherwise than before"]


def test_leaves_of_nodes() -> None:
    found = [[LeafLabelsStep("Leaves", CLAIMS, "a/leaf", {"n1": "leaf-1", "n2": leaf})] for leaf in ("l1", "l2")]
    assert changes(found[0], found[1]) == ["a/leaf of n2: planned otherwise than before"]
    assert changes(found[0], [LeafLabelsStep("Leaves", CLAIMS)]) == ["a/leaf of n[1-2]: no longer planned"]


def test_fields_of_an_object_of_others_and_what_only_follows() -> None:
    policy: Any = {"kind": "NicClusterPolicy", "metadata": {"name": "nic-cluster-policy"}}
    given = [FieldsStep("Fields", DRIVER, {**policy, "spec": {"a": number}}) for number in (1, 2)]
    assert changes(given[:1], given[1:]) == ["NicClusterPolicy nic-cluster-policy: planned otherwise than before"]
    assert changes([], [RestartStep("Restart", DRIVER, nodes=["n1"])]) == []
