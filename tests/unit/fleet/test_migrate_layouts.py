# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Workloads of every kind and layout, and of random values: there and back, and nothing else is changed."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as some

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.extended_resources import is_rdma
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate import (
    kinds,
    move,
    patch,
    text_edit,
    yaml_values,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate.requests import PodAsk, Wish
from ansible_collections.zerocopy.rdma.tests.unit.fleet import audit_manifests


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("flow", [None, True, False])
def test_every_workload_in_every_layout(flow: bool | None, newline: str) -> None:
    items = [*audit_manifests.objects(), *audit_manifests.guides()]
    text = yaml.safe_dump_all(items, default_flow_style=flow, sort_keys=False).replace("\n", newline)
    wish = Wish([PodAsk("one-nic", templates={"llm": "one-nic-1"})])
    there = text_edit.changed(text, items, move.forward(items, wish).documents)
    assert patch.same(yaml_values.read(there), move.forward(items, wish).documents)
    back = text_edit.changed(there, yaml_values.read(there), move.back(yaml_values.read(there)).documents)
    assert patch.same(yaml_values.read(back), items)
    assert back.count(newline) == back.count("\n")
    untouched = [line for line in text.splitlines() if "image" in line and flow is not True]
    assert set(untouched) <= set(there.splitlines())


def test_json() -> None:
    item = audit_manifests.named("decode")
    wish = Wish([PodAsk("one-nic", templates={"llm": "one-nic-1"})])
    (wanted,) = move.forward([item], wish).documents
    for indent in (None, 2):
        done = text_edit.changed(json.dumps(item, indent=indent), [item], [wanted])
        assert json.loads(done) == wanted


_SCALARS = some.none() | some.booleans() | some.integers(-9, 99) | some.text("ab:#-' \"1{", max_size=5)
_VALUES = some.recursive(
    _SCALARS,
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text("abc", min_size=1, max_size=2), inner),
    max_leaves=8,
)
_DOCUMENTS = some.dictionaries(some.text("abcd", min_size=1, max_size=2), _VALUES, min_size=1)


@settings(max_examples=100, deadline=None)
@given(_DOCUMENTS, _DOCUMENTS, some.sampled_from([None, True, False]))
def test_a_text_is_changed_rightly_or_not_at_all(old: Any, new: Any, flow: bool | None) -> None:
    text = yaml.safe_dump(old, default_flow_style=flow, sort_keys=False)
    try:
        done = text_edit.changed(text, [old], [new])
    except yaml_values.TextError:
        return
    assert patch.same(yaml_values.read(done), [new])


@settings(max_examples=100, deadline=None)
@given(_DOCUMENTS, _DOCUMENTS)
def test_a_patch_undoes_a_change(old: Any, new: Any) -> None:
    assert patch.same(patch.applied(new, list(patch.difference(new, old))), old)


_MUTATIONS = some.fixed_dictionaries(
    {},
    optional={
        "hostNetwork": some.booleans(),
        "dnsPolicy": some.sampled_from(["ClusterFirstWithHostNet", "ClusterFirst", "Default"]),
        "hostPID": some.booleans(),
        "nodeSelector": some.dictionaries(some.text("ab", min_size=1), some.text("ab")),
        "resourceClaims": some.sampled_from([[], [{"name": "rdma", "resourceClaimName": "x"}], [{"name": "gpu"}]]),
        "volumes": some.sampled_from([[], [{"name": "ib", "hostPath": {"path": "/dev/infiniband"}}]]),
    },
)
_RESOURCES = some.dictionaries(
    some.sampled_from(["cpu", "memory", "rdma/ib", "nvidia.com/gpu", "nvidia.com/hostdev", "example.com/x"]),
    some.sampled_from(["0", "1", 1, 8, "8"]),
)


_NEAREST = PodAsk("nearest", annotations={"rdma.zerocopy.io/nics": "nearest"}, capabilities=())
_ANNOTATIONS = some.sampled_from([{}, {"annotations": {}}, {"annotations": None}, {"annotations": {"a": "b"}}])


def _specs(item: Any) -> list[Any]:
    return [template.spec for template in kinds.templates(audit_manifests.kind_of(item), item)]


def _holders(spec: Any) -> list[Any]:
    return [*spec.get("containers", []), *([spec["model"]] if "model" in spec else [])]


@settings(max_examples=200, deadline=None)
@given(
    some.sampled_from([one for one in [*audit_manifests.objects(), *audit_manifests.guides()] if _specs(one)]),
    some.lists(some.tuples(_MUTATIONS, _RESOURCES, _RESOURCES), min_size=1, max_size=3),
    _ANNOTATIONS,
    some.sampled_from(
        [PodAsk("one-nic", templates={"llm": "one-nic-1"}), PodAsk("shared", limits={"rdma/shared": 1}), _NEAREST]
    ),
)
def test_mutated_workloads_go_there_and_back(item: Any, changes: Any, metadata: Any, ask: PodAsk) -> None:
    """Every template of every kind, each changed in its own way."""
    item = copy.deepcopy(item)
    item["metadata"].update(metadata)
    for place, inside in enumerate(_specs(item)):
        spec, limits, requests = changes[place % len(changes)]
        inside.update(copy.deepcopy(spec))
        for container in _holders(inside)[:1]:
            container["resources"] = {"limits": dict(limits), "requests": dict(requests)}
    wish = Wish([ask])
    (there,) = move.forward([item], wish).documents
    assert patch.same(move.forward([there], wish).documents, [there])
    back = move.back([there])
    assert (json.dumps(back.documents), back.notes) == (json.dumps([item]), [])
    for old, new in zip(_specs(item), _specs(there)):
        # What is not named stays, in a template as in the object.
        for part in {*old, *new} - {"hostNetwork", "dnsPolicy", "resourceClaims", "containers", "model", "workerSpec"}:
            assert new.get(part) == old.get(part)
        for container, inner in zip(_holders(old), _holders(new)):
            assert {name: inner.get(name) for name in _SAME} == {name: container.get(name) for name in _SAME}
            limits = (container.get("resources") or {}).get("limits") or {}
            kept = {name: value for name, value in limits.items() if not is_rdma(name)}
            assert kept.items() <= ((inner.get("resources") or {}).get("limits") or {}).items()


_SAME = ("name", "image", "command", "args", "volumeMounts", "readinessProbe", "startupProbe", "lifecycle")
