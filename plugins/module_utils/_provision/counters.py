# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Extended resources of nodes that only count pods, so that no device plugin offers them.

Kubernetes documents that they are written to the status of a node ("Advertise Extended Resources for a Node"). The
kubelet keeps the capacity that it did not write, and copies it to what is allocatable (``MachineInfo`` of
pkg/kubelet/nodestatus/setters.go, 1.36.3). A kubelet that starts without any checkpoint of its device manager takes its
node for a new one, and sets all extended resources to 0 (``reconcileExtendedResource`` of
pkg/kubelet/kubelet_node_status.go); a node that is deleted and registers again has none.

An annotation of the node says which are ours, with their numbers. A resource without it is somebody else's.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube import counters
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.counters import ANNOTATION
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.node_annotation import AnnotationError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import Object, metadata
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import (
    FIELD_MANAGER,
    Client,
    again_on_conflict,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.extended_resources import (
    Leftover,
    holders,
    in_the_way,
    unfinished,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.nodes import diff
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import fold
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.quantity import quantity

_NODES = "/api/v1/nodes"
_LISTS = ("capacity", "allocatable")

# By name of a node the resources that it shall have of us, each with its number.
Counters = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class CounterChange:
    """A resource of a node as it stands there (empty where it does not), and as it shall be (``None`` for gone)."""

    node: str
    resource: str
    capacity: str
    allocatable: str
    wanted: Optional[int]


def recorded(node: Object) -> Dict[str, int]:
    """The resources that we wrote to a node. Raises ClusterError where its annotation is none of ours."""
    try:
        return counters.recorded(metadata(node)["name"], metadata(node).get("annotations") or {})
    except AnnotationError as error:
        raise ClusterError(str(error)) from error


def readable(nodes: Sequence[Object]) -> Tuple[List[Object], Dict[str, str]]:
    """The nodes whose annotation can be read; by name of each other node, what is wrong with its annotation."""
    found, broken = [], {}
    for node in nodes:
        try:
            recorded(node)
            found.append(node)
        except ClusterError as error:
            broken[metadata(node)["name"]] = str(error)
    return found, broken


def _quantities(node: Object, resource: str) -> List[str]:
    status = node.get("status") or {}
    return [str((status.get(key) or {}).get(resource, "")) for key in _LISTS]


def _is(text: str, number: int) -> bool:
    return text != "" and quantity(text) == number


def changes(node: Object, wanted: Mapping[str, int]) -> List[CounterChange]:
    """The changes after which the node has exactly these of our resources."""
    ours, name = recorded(node), metadata(node)["name"]
    found = []
    for resource in {**wanted, **ours}:
        capacity, allocatable = _quantities(node, resource)
        number = wanted.get(resource)
        right = ours.get(resource) == number and all(_is(text, number or 0) for text in (capacity, allocatable))
        if number is None or not right:
            found.append(CounterChange(name, resource, capacity, allocatable, number))
    return found


def foreign(node: Object, wanted: Mapping[str, int]) -> List[str]:
    """Those of these resources that somebody else offers on the node; 0 of one is what a plugin that went leaves."""
    ours = recorded(node)
    return [
        resource
        for resource in wanted
        if resource not in ours and any(text and not _is(text, 0) for text in _quantities(node, resource))
    ]


def _unchanged(node: Object, resource: str, number: int) -> bool:
    """Whether a resource still has the number that we wrote, or 0."""
    return all(text == "" or _is(text, number) or _is(text, 0) for text in _quantities(node, resource))


def keep(client: Client, wanted: Counters, check: bool, keep_used: bool = False) -> Dict[str, Any]:
    """Give each node exactly these resources of us; ``changed``, ``nodes``, ``broken``, ``warnings`` and ``diff``.

    Nodes that are not in the cluster, or not named, are left alone. So are nodes whose annotation cannot be read:
    ``broken`` has, by name of the node, what is wrong with it. Raises ClusterError, before anything is changed,
    where somebody else offers such a resource, or a pod has one that is to go; the latter, with ``keep_used``, is a
    warning, and the resource stays.
    """
    nodes, broken = readable([node for node in client.get(_NODES)["items"] if metadata(node)["name"] in wanted])
    taken: Dict[str, List[str]] = {}
    for node in nodes:
        for resource in foreign(node, wanted[metadata(node)["name"]]):
            taken.setdefault(resource, []).append(metadata(node)["name"])
    if taken:
        told = [f"{resource} is offered on {fold(names)} by somebody else" for resource, names in taken.items()]
        raise ClusterError(f"{'; '.join(told)}: remove it there, or choose another name")
    found = [change for node in nodes for change in changes(node, wanted[metadata(node)["name"]])]
    held = _held(client, [change for change in found if change.wanted is None])
    warnings = [in_the_way(held)] if held else []
    if warnings and not keep_used:
        raise ClusterError(warnings[0])
    stay = {(entry.node, entry.resource) for entries in held.values() for entry in entries}
    found = [change for change in found if (change.node, change.resource) not in stay]
    by_node: Dict[str, List[CounterChange]] = {}
    for change in found:
        by_node.setdefault(change.node, []).append(change)
    if not check:
        client.all(
            lambda name: _write(client, name, {counter.resource: counter.wanted for counter in by_node[name]}),
            [*by_node],
        )
    told_nodes = {name: [change.resource for change in entries] for name, entries in by_node.items()}
    return {
        "changed": bool(by_node),
        "nodes": told_nodes,
        "broken": broken,
        "warnings": warnings,
        "diff": _diff(found),
    }


def _held(client: Client, going: Sequence[CounterChange]) -> Dict[str, List[Leftover]]:
    if not going:
        return {}
    entries = [Leftover(change.node, change.resource, change.capacity, change.allocatable) for change in going]
    return holders(unfinished(client), entries)


def _write(client: Client, name: str, wanted: Mapping[str, Optional[int]]) -> None:
    """Write annotation and status of one node in one request, again if it was changed meanwhile."""

    def attempt() -> None:
        node = client.find(f"{_NODES}/{name}")
        if node is None:
            return
        given = {resource: number for resource, number in wanted.items() if number is not None}
        if foreign(node, given):
            raise ClusterError(f"{', '.join(foreign(node, given))} of {name} is now offered by somebody else")
        before = recorded(node)
        ours = {**{resource: number for resource, number in before.items() if resource not in wanted}, **given}
        # What somebody else has written there in place of ours stays.
        values: Dict[str, Optional[str]] = {
            resource: None if number is None else str(number)
            for resource, number in wanted.items()
            if number is not None or _unchanged(node, resource, before.get(resource, 0))
        }
        meta: Dict[str, Any] = {key: metadata(node)[key] for key in ("uid", "resourceVersion")}
        meta["annotations"] = {ANNOTATION: json.dumps(ours, sort_keys=True) if ours else None}
        status = {key: dict(values) for key in _LISTS} if values else {}
        client.merge(f"{_NODES}/{name}/status", {"metadata": meta, "status": status}, {"fieldManager": FIELD_MANAGER})

    again_on_conflict(attempt)


def _diff(found: Sequence[CounterChange]) -> List[Dict[str, str]]:
    before, after = "", ""
    for change in found:
        for key in _LISTS:
            text = getattr(change, key)
            before += f"{change.node} {key} {change.resource}: {text}\n" if text else ""
            after += f"{change.node} {key} {change.resource}: {change.wanted}\n" if change.wanted is not None else ""
    return diff("extended resources of nodes", before, after)
