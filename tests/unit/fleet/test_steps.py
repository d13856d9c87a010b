# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The steps of a plan as JSON, and back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._plan import steps

EVERY: list[steps.AnyStep] = [
    steps.HeldCheck("Check", "driver", {"n1": ["rdma/hca"]}),
    steps.ObjectsStep(
        "Apply",
        "driver",
        "set",
        "kube-system",
        [{"kind": "ConfigMap"}],
        prune=False,
        wait=True,
        first=True,
        rejectable=["A"],
        kept=["B"],
        pools="rdma",
    ),
    steps.ObjectsStep("Apply", "claims", "other", "kube-system"),
    steps.LabelsStep("Label", "driver", {"n1": {"a/b": "c", "d": None}}, first=True, after_counters=True),
    steps.LeafLabelsStep("Leaves", "claims", "a/leaf", {"n1": "leaf-1"}, ["n2"]),
    steps.FieldsStep("Fields", "driver", {"kind": "NicClusterPolicy"}, "us", ["a"]),
    steps.CountersStep("Count", "driver", {"n1": {"rdma.io/hca": 100}, "n2": {}}, keep_used=True),
    steps.LeftoversStep("Clean", "driver", {"n1": ["rdma/hca"]}, "a/b", keep_used=True, served=["n1"]),
    steps.RestartStep("Restart", "driver", "kube-system", "app=dranet", ["n1"], wait=True),
]


def test_every_kind_of_step_is_tried_here() -> None:
    assert {type(step) for step in EVERY} == set(steps._KINDS.values())


@pytest.mark.parametrize("step", EVERY, ids=lambda step: step.kind)
def test_a_step_is_read_as_it_was_written(step: steps.AnyStep) -> None:
    documents = json.loads(json.dumps(steps.written([step])))
    (found,) = steps.read(documents)
    assert type(found) is type(step)
    assert steps.written([found]) == documents
    assert documents[0]["kind"] == step.kind
    assert steps.read(steps.written([step])) == [step]


def test_steps_keep_their_order() -> None:
    assert [step.title for step in steps.read(steps.written(EVERY))] == [step.title for step in EVERY]
    assert steps.read([]) == []


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"title": "Label", "part": "driver"},
        {"kind": "", "title": "Label", "part": "driver"},
        {"kind": "reboot", "title": "Label", "part": "driver"},
        {"kind": ["labels"], "title": "Label", "part": "driver"},
        {"kind": "labels", "part": "driver"},
        {"kind": "labels", "title": "Label"},
        {"kind": "labels", "title": "Label", "part": "driver", "objects": []},
    ],
)
def test_what_is_no_step_is_refused(document: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="is no step: it needs a kind, one of held, objects, labels, leaf_labels"):
        steps.read([*steps.written(EVERY), document])
