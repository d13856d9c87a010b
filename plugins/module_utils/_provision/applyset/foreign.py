# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Whose an object is, besides this field manager's.

Server-side apply sees no conflict where others have applied the same values, so an object of somebody else would become
a member of the set without a word, and be deleted with it. The API server remembers who wrote which fields.
"""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import GroupKind, metadata
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import FIELD_MANAGER
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.managed import applied_by
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.parent import PART_OF

# A Namespace that is there already is no obstacle to having objects in it; it is not deleted.
_SHARED = GroupKind("", "Namespace")
# How the reason begins for which an object of others is kept.
MANAGED = "managed by "


def managers(live: Mapping[str, Any]) -> List[str]:
    """The other field managers of an object, without those of its status."""
    return sorted({str(entry.get("manager")) for entry in _entries(live)})


def refusal(kind: GroupKind, live: Mapping[str, Any]) -> str:
    """Why an object that exists and is in no set must not become a member, ``""`` if it may."""
    others = managers(live)
    if kind == _SHARED or (not others and applied_by(FIELD_MANAGER, live) is not None):
        return ""
    # Who has applied nothing but a name, such as that of a ServiceAccount, is not remembered.
    return f"exists already, {MANAGED}{', '.join(others) or 'somebody else'}"


def reason(kind: GroupKind, live: Mapping[str, Any]) -> str:
    """Why a member must not be deleted, ``""`` if it may: somebody else made it, or has made it theirs.

    Who has only added to an object of ours, or has put it in a set as well (kubectl apply --applyset), does not count.
    """
    own = (applied_by(FIELD_MANAGER, live) or {}).get("fieldsV1") or {}
    entries = list(_entries(live))
    if kind != _SHARED:
        if any(_has_label(entry) for entry in entries):
            return ""
        entries = [entry for entry in entries if _common(own, entry.get("fieldsV1") or {})]
    others = sorted({str(entry.get("manager")) for entry in entries})
    return f"{MANAGED}{', '.join(others)} too" if others else ""


def _entries(live: Mapping[str, Any]) -> Iterator[Dict[str, Any]]:
    for entry in metadata(live).get("managedFields") or []:
        if entry.get("manager") != FIELD_MANAGER and not entry.get("subresource"):
            yield entry


def _has_label(entry: Mapping[str, Any]) -> bool:
    fields = entry.get("fieldsV1") or {}
    return f"f:{PART_OF}" in ((fields.get("f:metadata") or {}).get("f:labels") or {})


def _common(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> bool:
    """Whether both have a field (FieldsV1; ``.`` is what contains others)."""
    return any(
        name in theirs and (not below or not theirs[name] or _common(below, theirs[name]))
        for name, below in ours.items()
        if name != "."
    )
