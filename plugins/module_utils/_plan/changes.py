# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What a second plan of one run wants otherwise than the first, which may have been shown to somebody."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.steps import (
    AnyStep,
    CountersStep,
    FieldsStep,
    LabelsStep,
    LeafLabelsStep,
    ObjectsStep,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import fold

_Key = Tuple[str, str]


def changes(first: Sequence[AnyStep], second: Sequence[AnyStep]) -> List[str]:
    """One line for each object and each label or resource of nodes that is new, gone or another in the second plan.

    Restarts and checks follow from what happened meanwhile, so they are left out.
    """
    return [*_of_objects(_objects(first), _objects(second)), *_of_nodes(_nodes(first), _nodes(second))]


def _objects(steps: Sequence[AnyStep]) -> Dict[_Key, Any]:
    found: Dict[_Key, Any] = {}
    for step in steps:
        members = step.objects if isinstance(step, ObjectsStep) and not step.first else ()
        if isinstance(step, FieldsStep):
            members = [step.object]
        for item in members:
            place = [item["metadata"].get("namespace"), item["metadata"]["name"]]
            found[item["kind"], "/".join(filter(None, place))] = item
    return found


def _of_objects(first: Dict[_Key, Any], second: Dict[_Key, Any]) -> Iterator[str]:
    for key in sorted(first.keys() | second.keys()):
        if first.get(key) != second.get(key):
            yield f"{key[0]} {key[1]}: {_verdict(key in first, key in second)}"


def _nodes(steps: Sequence[AnyStep]) -> Dict[_Key, Any]:
    """By name of a label or resource and node what it shall be; ``None`` (no label) is as good as nothing."""
    leaves = [step for step in steps if isinstance(step, LeafLabelsStep)]
    return {
        **{(step.label, node): value for step in leaves for node, value in step.nodes.items()},
        **_of_each(steps),
    }


def _of_each(steps: Sequence[AnyStep]) -> Dict[_Key, Any]:
    return {
        (name, node): value
        for step in steps
        if isinstance(step, CountersStep) or (isinstance(step, LabelsStep) and not step.first)
        for node, values in step.nodes.items()
        for name, value in values.items()
        if value is not None
    }


def _of_nodes(first: Dict[_Key, Any], second: Dict[_Key, Any]) -> Iterator[str]:
    found: Dict[Tuple[str, str], List[str]] = {}
    for key in sorted(first.keys() | second.keys()):
        if first.get(key) != second.get(key):
            found.setdefault((key[0], _verdict(key in first, key in second)), []).append(key[1])
    for (name, verdict), nodes in found.items():
        yield f"{name} of {fold(nodes)}: {verdict}"


def _verdict(in_first: bool, in_second: bool) -> str:
    if in_first and in_second:
        return "planned otherwise than before"
    return "not planned before" if in_second else "no longer planned"
