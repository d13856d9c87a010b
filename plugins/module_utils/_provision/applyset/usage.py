# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Whether something still needs an object that has left the set, or somebody else has it (:mod:`foreign`).

A ResourceClaim or template is needed by whatever names it: pods, and everything that makes pods. What that is besides
Kubernetes' own workloads nobody knows (LeaderWorkerSet, JobSet, RayCluster ...), so all custom resources of the
namespace are searched for the name, and those without a namespace (ClusterTrainingRuntime), which say it for any. It
costs a list of each kind, and only when a claim or template has left the set.
The revision history of a workload needs nothing: no pod is made from it unless somebody rolls back.
A NetworkAttachmentDefinition is needed by the pods that name it, in whatever namespace: CNI reads it when they end.
"""

from __future__ import annotations

import json
from typing import (
    Any,
    Callable,
    Collection,
    Dict,
    Iterable,
    Iterator,
    List,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
    TypeVar,
)

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.unstructured import table
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api import pages
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.answers import CUT, is_cut
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.discovery import Api, Resource
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ApiError, ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import (
    GroupKind,
    Object,
    ObjectKey,
    key_of,
    metadata,
    values_of,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset import foreign
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.content_hash import (
    CLAIM,
    REFERENCES,
    TEMPLATE,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.intake import DEFINITION

_POD = GroupKind("", "Pod")
_REPLICA_SET, _REVISION = GroupKind("apps", "ReplicaSet"), GroupKind("apps", "ControllerRevision")
_STATEFUL_SET = GroupKind("apps", "StatefulSet")
_DEVICE_CLASS = GroupKind("resource.k8s.io", "DeviceClass")
_NETWORK = GroupKind("k8s.cni.cncf.io", "NetworkAttachmentDefinition")
# Operators make one of these, of the same name, of any of them.
_OF_OPERATORS = (
    GroupKind("mellanox.com", "HostDeviceNetwork"),
    GroupKind("sriovnetwork.openshift.io", "SriovNetwork"),
    GroupKind("sriovnetwork.openshift.io", "SriovIBNetwork"),
)
_NETWORKS = "k8s.v1.cni.cncf.io/networks"
# Of Kubernetes' own groups, those that have pod templates; scheduling.k8s.io has pod groups with claims (KEP-5729).
_GROUPS = ("apps", "batch", "scheduling.k8s.io")
# In place of a namespace: of what has none.
_EVERYWHERE = ""
_CORE_KINDS = ("Pod", "PodTemplate", "ReplicationController")
# How the reason begins where not everything could be listed.
UNSEEN = "may be in use: "
_Kept = TypeVar("_Kept")
_UNFINISHED = {"fieldSelector": "status.phase!=Succeeded,status.phase!=Failed"}


class SetMember(NamedTuple):
    """An object of the set as it is in the cluster."""

    key: ObjectKey
    resource: Resource
    live: Object


def networks_of(pod: Object) -> Iterator[Tuple[str, str]]:
    """Namespace and name of the networks that a pod asks for, as Multus reads its annotation.

    It is JSON, or names with commas between them, each with a namespace before and an interface after it or without.
    """
    meta = metadata(pod)
    text, own = str((meta.get("annotations") or {}).get(_NETWORKS) or "").strip(), str(meta.get("namespace", ""))
    try:
        entries = json.loads(text)
    except (ValueError, RecursionError):
        entries = [part.strip() for part in text.split(",")]
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict):
            yield str(entry.get("namespace") or own), str(entry.get("name"))
        elif entry:
            namespace, _slash, name = str(entry).partition("@")[0].rpartition("/")
            yield namespace or own, name


def _revisions(stateful_set: Object) -> Iterator[str]:
    """The revisions from which it makes pods: two as long as an update is not complete."""
    status = stateful_set.get("status") or {}
    yield from (str(status.get(name)) for name in ("currentRevision", "updateRevision"))


def _earlier(kind: GroupKind, item: Object, revisions: Collection[str]) -> bool:
    """Whether an object only keeps an earlier version of a workload. ``revisions`` are those of StatefulSets in use."""
    meta = metadata(item)
    owner = next((owner.get("kind") for owner in meta.get("ownerReferences") or [] if owner.get("controller")), None)
    if kind == _REPLICA_SET:
        return owner == "Deployment" and (item.get("spec") or {}).get("replicas") == 0
    if kind == _REVISION:
        return owner == "DaemonSet" or (owner == "StatefulSet" and meta["name"] not in revisions)
    return False


class _Holder(NamedTuple):
    """What is remembered of an object, however large it is: what it may need, and whose it is.

    ``cut`` says that not all of it could be looked at.
    """

    item: Object
    references: List[Tuple[str, str]]
    cut: bool


def _remembered(item: Object, references: Iterable[Tuple[str, str]]) -> _Holder:
    meta, spec, status = metadata(item), table(item.get("spec")), table(item.get("status"))
    kept: Object = {
        "metadata": {name: meta[name] for name in ("name", "namespace", "ownerReferences") if name in meta},
        "spec": {name: spec[name] for name in ("replicas",) if name in spec},
        "status": {name: status[name] for name in ("currentRevision", "updateRevision") if name in status},
    }
    return _Holder(kept, list(references), is_cut(item))


def _named(item: Object) -> _Holder:
    return _remembered(item, values_of(item, tuple(REFERENCES.values())))


def _classes(item: Object) -> _Holder:
    return _remembered(item, values_of(item.get("spec"), ("deviceClassName",)))


def kinds_of_users(member: SetMember) -> Sequence[GroupKind]:
    """The kinds of what may need a member, which have to be listed to know. Not for claims and templates: who may not
    list what names these keeps them, and ``_holders`` has their kinds.
    """
    kind = member.key.group_kind
    if kind == _DEVICE_CLASS:
        return (CLAIM, TEMPLATE)
    if kind == DEFINITION:
        spec = member.live["spec"]
        return (GroupKind(spec["group"], spec["names"]["kind"]),)
    return (_POD,) if kind in (_NETWORK, *_OF_OPERATORS) else ()


class Usage:
    """Who needs what, asked for once for each namespace."""

    def __init__(self, client: Client, api: Api, going: Collection[ObjectKey]) -> None:
        """``going`` are objects that are to be deleted, or have just been: they need nothing any more."""
        self._client = client
        self._api = api
        self._going = going
        self._named: Dict[str, Dict[Tuple[str, str], str]] = {}
        self._forbidden: Dict[str, str] = {}
        self._unanswered: Dict[str, str] = {}
        self._cut: Dict[str, List[ObjectKey]] = {}
        self._classes: Optional[Dict[str, str]] = None
        self._networks: Optional[Dict[Tuple[str, str], str]] = None

    def reason(self, member: SetMember) -> str:
        """Why the object has to stay: it is somebody else's as well, or needed; ``""`` for neither.

        Raises ApiError, ClusterError.
        """
        return foreign.reason(member.key.group_kind, member.live) or self._needed(member)

    def _needed(self, member: SetMember) -> str:
        key = member.key
        if key.group_kind in REFERENCES:
            reserved = (member.live.get("status") or {}).get("reservedFor") or []
            if reserved:
                return "reserved for " + ", ".join(f"{user.get('resource')} {user.get('name')}" for user in reserved)
            reference = (REFERENCES[key.group_kind], key.name)
            for namespace in (key.namespace, _EVERYWHERE):
                if namespace not in self._named:
                    self._search(namespace)
            for namespace in (key.namespace, _EVERYWHERE):
                if reference in self._named[namespace]:
                    return self._named[namespace][reference]
            places = (key.namespace, _EVERYWHERE)
            forbidden = [self._forbidden[place] for place in places if self._forbidden[place]]
            if forbidden:
                return f"{UNSEEN}this user has no right to list {' and '.join(forbidden)}"
            unanswered = [self._unanswered[place] for place in places if self._unanswered[place]]
            if unanswered:
                return f"{UNSEEN}{'; '.join(unanswered)}"
            cut = [holder for place in places for holder in self._cut[place]]
            return f"{UNSEEN}{cut[0]} may name it, but {CUT}" if cut else ""
        if key.group_kind == _DEVICE_CLASS:
            if self._classes is None:
                self._classes = self._search_classes()
            return self._classes.get(key.name, "")
        if key.group_kind in (_NETWORK, *_OF_OPERATORS):
            if self._networks is None:
                self._networks = self._search_networks()
            namespace = str((member.live.get("spec") or {}).get("networkNamespace") or key.namespace)
            return self._networks.get((namespace, key.name), "")
        if key.group_kind == ("", "Namespace"):
            pods = self._api.find(_POD)
            first = {**_UNFINISHED, "limit": "1"}
            return "has pods" if pods and self._client.get(pods.path(key.name), first).get("items") else ""
        if key.group_kind == DEFINITION:
            (kind,) = kinds_of_users(member)
            users = [user for user in self._keys(self._api.find(kind)) if user not in self._going]
            return f"has objects: {users[0]}" if users else ""
        return ""

    def _search(self, namespace: str) -> None:
        """Find what names a claim or template in a namespace, or without one, and what cannot be looked at."""
        named = self._named[namespace] = {}
        place = f"in namespace {namespace}" if namespace else "in the cluster"
        forbidden: List[str] = []
        unanswered: List[str] = []

        def search(resource: Resource) -> List[_Holder]:
            query = _UNFINISHED if resource.group_kind == _POD else {}
            try:
                return self._list(resource, _named, namespace, query)
            except ClusterError as error:
                name = f"{resource.plural}.{resource.group}" if resource.group else resource.plural
                if isinstance(error, ApiError) and error.status == 403:
                    forbidden.append(name)
                else:
                    # An operator that has gone leaves kinds behind whose conversion nobody answers.
                    unanswered.append(f"{name} {place} cannot be listed ({error})")
                return []

        holders = list(self._holders(bool(namespace)))
        found = {resource.group_kind: items for resource, items in zip(holders, self._client.all(search, holders))}
        revisions = {name for each in found.get(_STATEFUL_SET, ()) for name in _revisions(each.item)}
        self._forbidden[namespace] = f"{', '.join(sorted(forbidden))} {place}" if forbidden else ""
        self._unanswered[namespace] = "; ".join(sorted(unanswered))
        cut = self._cut[namespace] = []
        for kind, items in found.items():
            for each in items:
                if key_of(each.item, kind) in self._going or _earlier(kind, each.item, revisions):
                    continue
                for reference in each.references:
                    named.setdefault(reference, f"named by {kind.kind} {each.item['metadata']['name']}")
                if each.cut:
                    cut.append(key_of(each.item, kind))

    def _holders(self, namespaced: bool) -> Iterator[Resource]:
        """The kinds whose objects may name a claim or template."""
        for resource in self._api.all():
            group = resource.group
            custom = "." in group and not group.endswith(".k8s.io")
            core = group == "" and resource.kind in _CORE_KINDS
            wanted = custom or (namespaced and (core or group in _GROUPS))
            if resource.namespaced == namespaced and "list" in resource.verbs and wanted:
                yield resource

    def _search_classes(self) -> Dict[str, str]:
        """The classes that claims and templates ask for, with one of those."""
        found: Dict[str, str] = {}
        for kind in (CLAIM, TEMPLATE):
            for holder in self._list(self._api.find(kind), _classes):
                key = key_of(holder.item, kind)
                for _field, name in holder.references if key not in self._going else ():
                    found.setdefault(name, f"requested by {key}")
        return found

    def _search_networks(self) -> Dict[Tuple[str, str], str]:
        """The networks that pods ask for, with one of those."""
        found: Dict[Tuple[str, str], str] = {}
        pods = self._list(
            self._api.find(_POD), lambda pod: (key_of(pod, _POD), list(networks_of(pod))), "", _UNFINISHED
        )
        for key, networks in pods:
            for network in networks:
                found.setdefault(network, f"requested by {key}")
        return found

    def _keys(self, resource: Optional[Resource]) -> List[ObjectKey]:
        kind = resource.group_kind if resource else _POD
        return self._list(resource, lambda item: key_of(item, kind))

    def _list(
        self, resource: Optional[Resource], keep: Callable[[Object], _Kept], namespace: str = "", query: Any = None
    ) -> List[_Kept]:
        if resource is None:
            return []
        try:
            return pages.read(self._client, resource.path(namespace), query, lambda item: [keep(item)])
        except ApiError as error:
            if error.status in (404, 405):
                return []
            raise
