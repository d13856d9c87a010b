# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Kubernetes objects as JSON has them, and what identifies one."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Tuple

Object = Dict[str, Any]


class GroupKind(NamedTuple):
    """A kind whatever its version; the core group is ``""``."""

    group: str
    kind: str

    def __str__(self) -> str:
        """As in ``applyset.kubernetes.io/contains-group-kinds``: ``Secret``, ``DaemonSet.apps``."""
        return f"{self.kind}.{self.group}" if self.group else self.kind


class ObjectKey(NamedTuple):
    """What identifies an object in a cluster. ``namespace`` is ``""`` when the kind has none."""

    group: str
    kind: str
    namespace: str
    name: str

    @property
    def group_kind(self) -> GroupKind:
        return GroupKind(self.group, self.kind)

    def __str__(self) -> str:
        place = f"{self.namespace}/" if self.namespace else ""
        return f"{self.kind} {place}{self.name}"


def split_version(api_version: str) -> Tuple[str, str]:
    """Group and version of an ``apiVersion``: ``apps/v1`` is ``("apps", "v1")``, ``v1`` is ``("", "v1")``."""
    group, _slash, version = api_version.rpartition("/")
    return group, version


def metadata(item: Mapping[str, Any]) -> Dict[str, Any]:
    """The metadata of an object that the API server gave."""
    found: Dict[str, Any] = item.get("metadata") or {}
    return found


def key_of(item: Mapping[str, Any], group_kind: GroupKind) -> ObjectKey:
    """What identifies an object that the API server gave. The items of its lists do not repeat their kind."""
    meta = metadata(item)
    return ObjectKey(group_kind.group, group_kind.kind, meta.get("namespace", ""), meta["name"])


def values_of(tree: Any, names: Tuple[str, ...]) -> Iterator[Tuple[str, str]]:
    """Name and value of every field of these names with a string in it, wherever it is in ``tree``."""
    if isinstance(tree, dict):
        for name, value in tree.items():
            if name in names and isinstance(value, str):
                yield name, value
            else:
                yield from values_of(value, names)
    elif isinstance(tree, list):
        for value in tree:
            yield from values_of(value, names)


def listed(texts: List[str], most: int = 10) -> str:
    """Texts on a line each, cut where there are many."""
    lines = texts[:most]
    if len(texts) > most:
        lines.append(f"... and {len(texts) - most} more")
    return "\n".join(lines)
