# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Labels of nodes that say on which leaves they are, with keys that others may set as well, such as topograph.

Here they are set; their values are from ``_fabric/leaf_groups.py``.

The key does not tell whose such a label is, so the API server does: it remembers for each field manager which labels it
applied (Kubernetes documentation, "Server-Side Apply"). Ours have a field manager of their own. A label that somebody
else has set, or has changed, is theirs and stays.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, NamedTuple, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.steps import LeafLabelsStep
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import Object, metadata
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import (
    METADATA_LIST,
    Client,
    again_on_conflict,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.managed import applied_by
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.nodes import diff
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import fold
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import joined

MANAGER = "zerocopy.rdma/leaf"
_NODES = "/api/v1/nodes"
_SHOWN = 8


class _Change(NamedTuple):
    """The labels of ours before and after, and what others have in their place."""

    before: Dict[str, str]
    after: Dict[str, str]
    others: str = ""


def owned(node: Mapping[str, Any]) -> Dict[str, str]:
    """The labels of a node that are ours, with their values."""
    live = metadata(node).get("labels") or {}
    return {name: live[name] for name in _labels(applied_by(MANAGER, node)) if name in live}


def _labels(entry: Optional[Mapping[str, Any]]) -> List[str]:
    """The labels in one entry of ``managedFields``."""
    fields = (((entry or {}).get("fieldsV1") or {}).get("f:metadata") or {}).get("f:labels") or {}
    return [name[2:] for name in fields if name.startswith("f:")]


def _others(node: Mapping[str, Any], label: str) -> List[str]:
    """Who else has set the label, or ``somebody else`` where nobody remembers."""
    own = applied_by(MANAGER, node)
    entries = [entry for entry in metadata(node).get("managedFields") or [] if entry is not own]
    found = sorted({str(entry.get("manager")) for entry in entries if label in _labels(entry)})
    there = label in (metadata(node).get("labels") or {})
    return found or (["somebody else"] if there and label not in owned(node) else [])


def _change(node: Mapping[str, Any], label: str, value: Optional[str]) -> _Change:
    before = owned(node)
    if value is None:
        return _Change(before, {})
    others = _others(node, label)
    if others:
        live = (metadata(node).get("labels") or {}).get(label)
        kept = {label: before[label]} if label in before else {}
        return _Change(before, kept, f"{label}={live} of {joined(others)}")
    return _Change(before, {label: value})


def converge(client: Client, step: LeafLabelsStep, check: bool) -> Dict[str, Any]:
    """Give each node its label, and take ours from all others; ``changed``, ``nodes`` (names), ``diff``, ``warnings``.

    A node that is not in the cluster, or leaves it at this moment, is left out.
    """
    items = client.get(_NODES, accept=METADATA_LIST)["items"]
    live = {metadata(node)["name"]: node for node in items if metadata(node)["name"] not in step.kept}
    found = {name: _change(node, step.label, step.nodes.get(name)) for name, node in live.items()}

    def write(name: str) -> Optional[_Change]:
        return again_on_conflict(lambda: _written(client, live[name], step.label, step.nodes.get(name)))

    differ = [name for name, change in found.items() if change.before != change.after]
    if not check:
        for name, change in zip(list(differ), client.all(write, differ)):
            if change is None:
                del found[name]
            else:
                found[name] = change
        differ = [name for name in differ if name in found and found[name].before != found[name].after]
    before, after = (
        "".join(f"{name} {key}: {value}\n" for name in differ for key, value in labels[name].items())
        for labels in ({name: found[name].before for name in differ}, {name: found[name].after for name in differ})
    )
    return {
        "changed": bool(differ),
        "nodes": differ,
        "diff": diff("leaves of nodes", before, after),
        "warnings": _warnings(step, found),
    }


def _written(client: Client, known: Object, label: str, value: Optional[str]) -> Optional[_Change]:
    """Change one node as it is now; ``None`` if it is gone. Raises ApiError 409 when it has changed meanwhile."""
    meta = metadata(known)
    path = f"{_NODES}/{meta['name']}"
    live = client.find(path)
    if live is None or metadata(live)["uid"] != meta["uid"]:
        return None
    change = _change(live, label, value)
    if change.before != change.after:
        identity = {name: metadata(live)[name] for name in ("name", "uid", "resourceVersion")}
        body = {"apiVersion": "v1", "kind": "Node", "metadata": {**identity, "labels": change.after}}
        client.apply(path, body, {"fieldManager": MANAGER, "force": "false"})
    return change


def _warnings(step: LeafLabelsStep, found: Mapping[str, _Change]) -> List[str]:
    lines = []
    others = [f"{name} ({change.others})" for name, change in found.items() if change.others]
    if others:
        why = "others have set this label, so it was left as it is: remove it there, or do without ours"
        lines.append(f"{joined(others, _SHOWN)}: {why}")
    missing = [name for name in step.nodes if name not in found and name not in step.kept]
    if missing:
        lines.append(f"{fold(missing)}: no label {step.label}, because the cluster has no such node")
    return lines
