# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What a run has done to the objects of a set, as the module tells it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import ObjectKey, listed, metadata
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.content_hash import ALIAS
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.difference import difference
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.plan import (
    REJECTED,
    ApplysetPlan,
    ApplysetRequest,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.usage import UNSEEN, SetMember


@dataclass
class Changes:
    """What became of the members that have left the set, and of the parent; the steps of the plan tell of the others.

    ``kept`` has the reasons, ``held`` the nodes that are down and keep a DaemonSet from going. ``unready`` has by node
    the DaemonSets that are not ready there, and what was rejected.
    """

    pruned: List[SetMember] = field(default_factory=list)
    kept: Dict[ObjectKey, str] = field(default_factory=dict)
    held: Dict[ObjectKey, str] = field(default_factory=dict)
    unready: Dict[str, List[str]] = field(default_factory=dict)
    parent: str = "unchanged"


def outcome(request: ApplysetRequest, plan: ApplysetPlan, done: Changes) -> Dict[str, Any]:
    """The module's result; in check mode what it would be."""
    objects = [
        _told(step.wanted.key, step.wanted.resource.api_version, step.action, step.wanted.alias, step.reason)
        for step in plan.steps
    ]
    for member in plan.leftovers:
        alias = (metadata(member.live).get("labels") or {}).get(ALIAS, "")
        reason = done.kept.get(member.key, "")
        objects.append(_told(member.key, member.resource.api_version, "kept" if reason else "pruned", alias, reason))
    if plan.stated is not None or done.parent != "unchanged":
        objects.append(_told(ObjectKey("", "Secret", request.namespace, request.name), "v1", done.parent))
    names: Dict[str, Dict[str, Dict[str, str]]] = {}
    for step in plan.steps:
        if step.wanted.alias:
            key = step.wanted.key
            names.setdefault(key.kind, {}).setdefault(key.namespace, {})[step.wanted.alias] = key.name
    changed = any(told["action"] not in ("unchanged", "kept", REJECTED) for told in objects)
    result = {"changed": changed, "objects": objects, "names": names, "unready": done.unready}
    notes = [f"{key} is kept: it {reason}" for key, reason in done.kept.items() if reason.startswith(UNSEEN)]
    notes += [
        f"{key} was deleted, but stays until its pods on {nodes} have ended: no kubelet answers there"
        for key, nodes in done.held.items()
    ]
    if notes:
        result["warnings"] = [listed(notes)]
    return {**result, "diff": _diff(plan, done)} if request.diff else result


def _diff(plan: ApplysetPlan, done: Changes) -> List[Dict[str, Any]]:
    changed = [
        difference(step.wanted.key, step.before, step.after)
        for step in plan.steps
        if step.action in ("created", "configured")
    ]
    return changed + [difference(member.key, member.live, None) for member in done.pruned]


def _told(key: ObjectKey, api_version: str, action: str, alias: str = "", reason: str = "") -> Dict[str, Any]:
    """What the user is told about an object."""
    told = {
        "api_version": api_version,
        "kind": key.kind,
        "namespace": key.namespace,
        "name": key.name,
        "action": action,
    }
    return {**told, **{name: text for name, text in (("alias", alias), ("reason", reason)) if text}}
