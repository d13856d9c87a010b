# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Which kinds the API server serves, and under which path.

Source: aggregated discovery (KEP-3352; kubernetes/api, apidiscovery/v2/types.go), stable since Kubernetes 1.30: two
requests for everything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, FrozenSet, Iterable, Iterator, List, Mapping, Optional
from urllib.parse import quote

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import GroupKind, Object

ACCEPT = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


@dataclass(frozen=True)
class Resource:
    """One kind in one version. ``new``: not served yet, but its CustomResourceDefinition is about to be applied."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    verbs: FrozenSet[str]
    new: bool = False

    @property
    def group_kind(self) -> GroupKind:
        return GroupKind(self.group, self.kind)

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str = "", name: str = "") -> str:
        """Path of the list in a namespace (in all of them without one), or of an object."""
        parts = ["apis" if self.group else "api", self.api_version]
        if self.namespaced and namespace:
            parts += ["namespaces", quote(namespace, safe="")]
        parts.append(self.plural)
        if name:
            # Names of roles and the like may have any character but / and %.
            parts.append(quote(name, safe=""))
        return "/" + "/".join(parts)


class Api:
    """All that is served, the versions of each group in the API server's order of preference."""

    def __init__(self, documents: Iterable[Mapping[str, Any]]) -> None:
        """``documents`` are the answers of ``/api`` and ``/apis``, asked for with :data:`ACCEPT`.

        Raises ClusterError if they are not of the aggregated form.
        """
        self._kinds: Dict[GroupKind, Dict[str, Resource]] = {}
        self._versions: Dict[str, List[str]] = {}
        # Groups of an aggregated API server (not of CustomResourceDefinitions) that does not answer at the moment.
        self._stale = set()
        for document in documents:
            if document.get("kind") != "APIGroupDiscoveryList":
                text = "the API server is older than Kubernetes 1.30, the oldest that can be used"
                raise ClusterError(f"{text}: it has no aggregated discovery")
            for group in document.get("items") or []:
                name = group["metadata"].get("name", "")
                for version in group.get("versions") or []:
                    self._versions.setdefault(name, []).append(version["version"])
                    if version.get("freshness") == "Stale":
                        self._stale.add(name)
                    for found in _resources(name, version):
                        self._kinds.setdefault(found.group_kind, {})[found.version] = found

    def add_definition(self, definition: Object) -> None:
        """Count all versions of a CustomResourceDefinition that is about to be applied as served.

        Raises ClusterError.
        """
        try:
            spec = definition["spec"]
            served = [version["name"] for version in spec["versions"] if version["served"]]
            for version in served:
                found = Resource(
                    group=spec["group"],
                    version=version,
                    kind=spec["names"]["kind"],
                    plural=spec["names"]["plural"],
                    namespaced=spec["scope"] == "Namespaced",
                    verbs=frozenset(["list", "get", "patch", "delete"]),
                    new=True,
                )
                self._kinds.setdefault(found.group_kind, {}).setdefault(version, found)
        except (KeyError, TypeError) as error:
            name = definition["metadata"]["name"]
            raise ClusterError(f"CustomResourceDefinition {name}: spec has no valid {error}") from error

    def versions(self, group: str) -> List[str]:
        """The versions of a group, none if it is not served."""
        return self._versions.get(group, [])

    def find(self, kind: GroupKind, version: Optional[str] = None) -> Optional[Resource]:
        """A kind in this version, or in the one that the API server prefers.

        Raises ClusterError when the group's own API server does not answer, so that nobody knows.
        """
        found = self._kinds.get(kind, {})
        if not found and kind.group in self._stale:
            way = "see its APIService (kubectl get apiservices)"
            raise ClusterError(f"{kind}: the API server of the group {kind.group} does not answer: {way}")
        return found.get(version) if version else next(iter(found.values()), None)

    def must_find(self, kind: GroupKind, version: str) -> Resource:
        """The same, but raises ClusterError with what is served instead."""
        found = self.find(kind, version)
        if found is None:
            others = list(self._kinds.get(kind, {}))
            asked = f"{kind.group}/{version}" if kind.group else version
            if others:
                raise ClusterError(f"the API server does not serve {kind.kind} in {asked}, only in {', '.join(others)}")
            raise ClusterError(
                f"the API server has no kind {kind.kind} in {asked}. "
                f"If a CustomResourceDefinition defines it, it has to be installed first, or be in the set"
            )
        return found

    def all(self) -> Iterator[Resource]:
        """Each kind once, in the preferred version."""
        return (next(iter(found.values())) for found in self._kinds.values())


def _resources(group: str, version: Mapping[str, Any]) -> Iterator[Resource]:
    for entry in version.get("resources") or []:
        # Some have subresources only.
        kind = (entry.get("responseKind") or {}).get("kind")
        if kind:
            yield Resource(
                group=group,
                version=version["version"],
                kind=kind,
                plural=entry["resource"],
                namespaced=entry.get("scope") == "Namespaced",
                verbs=frozenset(entry.get("verbs") or []),
            )
