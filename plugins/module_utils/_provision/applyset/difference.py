# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The part of an object that is of interest to people, and whether two states differ in it."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import Object, ObjectKey, metadata
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.managed import applied_by

# Where a Secret has its values.
SECRET_FIELDS = ("data", "stringData")
# kubectl apply leaves the whole object here, with the values of a Secret.
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_NOISE = ("creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid")


def visible(item: Mapping[str, Any]) -> Object:
    """An object without its status and without what the API server keeps for itself."""
    kept = {name: value for name, value in item.items() if name not in ("metadata", "status")}
    kept["metadata"] = {name: value for name, value in metadata(item).items() if name not in _NOISE}
    return kept


def same(before: Mapping[str, Any], after: Mapping[str, Any], manager: str) -> bool:
    """Whether nothing of an object changed, nor which of its fields ``manager`` applied."""
    return _compared(before, manager) == _compared(after, manager)


def _compared(item: Mapping[str, Any], manager: str) -> Tuple[Object, Any]:
    content = visible(item)
    # The items of a list lack them.
    content.pop("apiVersion", None)
    content.pop("kind", None)
    return content, (applied_by(manager, item) or {}).get("fieldsV1")


def difference(key: ObjectKey, before: Optional[Object], after: Optional[Object]) -> Dict[str, Any]:
    """An entry of Ansible's ``diff``, the contents of Secrets masked."""
    first, second = (visible(item) if item else {} for item in (before, after))
    if key.group_kind == ("", "Secret"):
        _mask(first, second)
    for item in (first, second):
        item.pop("apiVersion", None)
        item.pop("kind", None)
    return {
        "before_header": str(key) if before else f"{key} (absent)",
        "after_header": str(key) if after else f"{key} (absent)",
        "before": first,
        "after": second,
    }


def _mask(before: Object, after: Object) -> None:
    """Show only which values of a Secret differ."""
    _mask_values(before, after)
    for item in (before, after):
        annotations = metadata(item).get("annotations")
        if annotations and _LAST_APPLIED in annotations:
            item["metadata"]["annotations"] = {**annotations, _LAST_APPLIED: "***"}


def _mask_values(before: Object, after: Object) -> None:
    for field in SECRET_FIELDS:
        old, new = before.get(field) or {}, after.get(field) or {}
        changed: List[str] = [name for name in {*old, *new} if old.get(name) != new.get(name)]
        for item, values, text in ((before, old, "(before)"), (after, new, "(after)")):
            if values:
                item[field] = {name: f"*** {text}" if name in changed else "***" for name in values}
