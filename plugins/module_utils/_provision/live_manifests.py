# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""Workloads rewritten where they live, in the cluster: all checks before the first change.

Server-side apply cannot do it: a field that another manager set stays when we apply an object without it (Kubernetes
documentation, "Server-Side Apply", field management), and ``hostNetwork`` and the limits have to go. So it is a merge
patch (RFC 7386) on the version that was read, under our field manager: it removes fields whoever set them, works for
custom resources, and fails where somebody has written in between.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.unstructured import at, entries, table, text
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate import (
    kinds,
    manifest_owner,
    move,
    patch,
    pods,
    texts,
    way_back,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate.model import Kind
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate.requests import Wish
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.discovery import ACCEPT, Api, Resource
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ApiError, ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import (
    GroupKind,
    ObjectKey,
    listed,
    metadata,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import FIELD_MANAGER, Client
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.difference import difference
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.audit import QUERIES
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.audit import listed as list_all
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.manifest_files import summary
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.names import is_label, is_subdomain

_KINDS = (*kinds.KINDS, Kind("", "Service"), *pods.POOLS)
_QUERY = {"fieldManager": FIELD_MANAGER, "fieldValidation": "Strict"}
_TRIES = 5


@dataclass
class LiveRequest:
    """``places`` are namespaces, or ``namespace/name`` of all objects of a name.

    ``managers`` are names in ``managedFields`` of those who will not write their fields again.
    """

    places: Sequence[str]
    wish: Wish
    managers: Sequence[str] = ()
    back: bool = False


@dataclass
class _Live:
    """An object as it was read: without what the API server keeps for itself in ``bare``, and as it is to be."""

    resource: Resource
    meta: Dict[str, Any]
    bare: Dict[str, Any]
    wanted: Any = None

    @property
    def key(self) -> ObjectKey:
        return ObjectKey(*self.resource.group_kind, text(self.meta.get("namespace")), text(self.meta.get("name")))

    @property
    def path(self) -> str:
        return self.resource.path(self.key.namespace, self.key.name)

    @property
    def change(self) -> Dict[str, Any]:
        return merge(self.bare, self.wanted)


def rewrite(client: Client, request: LiveRequest, check: bool) -> Dict[str, Any]:
    """The result of the module ``workload_rewrite``. Raises ClusterError, before the first change where it can."""
    _check(request.places)
    there = list(_read(client, request.places))
    _found(there, request.places)
    bare = [live.bare for live in there]
    moved = move.back(bare) if request.back else move.forward(bare, request.wish)
    for live, wanted in zip(there, moved.documents):
        live.wanted = wanted
    candidates = [live for live in there if live.change]
    problems = [why for why in client.map(lambda live: _tried(client, live), candidates) if why]
    changing = [live for live in candidates if live.change]
    problems += [why for why in (_kept(live, request.managers) for live in changing) if why]
    if problems:
        told = listed([str(problem) for problem in problems], 30)
        raise ClusterError(f"No object was changed. Leave these out, by naming the others one by one:\n{told}")
    if not check:
        _write(client, changing)
    names = [str(live.key) for live in changing]
    notes = [{"object": str(note.ref), "level": note.level, "text": note.text} for note in moved.notes]
    return {
        "changed": bool(changing),
        "objects": names,
        "notes": notes,
        "diff": [difference(live.key, live.bare, live.wanted) for live in changing],
        "text": summary("object", names, [{"file": "", **note} for note in notes]),
    }


def _read(client: Client, places: Sequence[str]) -> Iterator[_Live]:
    """All objects there that have no controller whose own template is what has to change."""
    api = Api([client.get("/api", accept=ACCEPT), client.get("/apis", accept=ACCEPT)])
    split = [(namespace, name) for namespace, _slash, name in (place.partition("/") for place in places)]
    for kind in _KINDS:
        resource = api.find(GroupKind(*kind))
        if resource is None or not resource.namespaced:
            continue
        for namespace in dict(split):
            names = {name for place, name in split if place == namespace}
            path = resource.path(namespace)
            for item in list_all(client, path, QUERIES.get(kind, {}), lambda item: [item]):
                if "" not in names and metadata(item).get("name") not in names:
                    continue
                if not kinds.finished(kind, item) and not _made_by_known(item):
                    yield _Live(resource, metadata(item), _bare(resource, item))


def _check(places: Sequence[str]) -> None:
    """An empty namespace would be all of them, and an empty name the whole namespace."""
    for place in places:
        namespace, slash, name = place.partition("/")
        if not is_label(namespace) or (slash and not is_subdomain(name)):
            raise ClusterError(f"places has {place!r}, it must be a namespace, or namespace/name")


def _found(there: Sequence[_Live], places: Sequence[str]) -> None:
    known = {f"{live.key.namespace}/{live.key.name}" for live in there} | {live.key.namespace for live in there}
    for place in places:
        if place not in known:
            of = "of this name" if "/" in place else "in this namespace"
            raise ClusterError(f"places has {place}, but there is no workload, Service or InferencePool {of}")


def _made_by_known(item: Any) -> bool:
    owner = _controller(metadata(item))
    group, slash, _version = text(at(owner, "apiVersion")).rpartition("/")
    return Kind(group if slash else "", text(at(owner, "kind"))) in kinds.KINDS


def _controller(meta: Dict[str, Any]) -> Any:
    return next((owner for owner in entries(meta.get("ownerReferences")) if owner.get("controller") is True), None)


def _bare(resource: Resource, item: Any) -> Dict[str, Any]:
    """What people write of an object: the rest changes by itself, and belongs into no way back."""
    meta = {name: value for name, value in metadata(item).items() if name in ("name", "namespace", "annotations")}
    rest = {name: value for name, value in item.items() if name not in ("apiVersion", "kind", "metadata", "status")}
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": meta, **copy.deepcopy(rest)}


def merge(old: Any, new: Any) -> Dict[str, Any]:
    """The merge patch (RFC 7386) that makes ``new`` of ``old``, empty if they are the same."""
    found: Dict[str, Any] = {name: None for name in old if name not in new}
    for name, value in new.items():
        if isinstance(value, dict) and isinstance(old.get(name), dict):
            inner = merge(old[name], value)
            if inner:
                found[name] = inner
        elif name not in old or not patch.same(old[name], value):
            found[name] = value
    return found


def _patch(client: Client, live: _Live, version: Any, **query: str) -> Any:
    change = live.change
    change["metadata"] = {**table(change.get("metadata")), "resourceVersion": version}
    return client.merge(live.path, change, {**_QUERY, **query}).body


def _tried(client: Client, live: _Live) -> Optional[str]:
    """Why the API server does not take it. Otherwise ``wanted`` gets the defaults that it will have.

    A way back that does not know them would find ``dnsPolicy`` there, which was removed.
    """
    try:
        stored = _bare(live.resource, _patch(client, live, live.meta.get("resourceVersion"), dryRun="All"))
    except ApiError as error:
        hint = ". Delete it, and create it from its rewritten manifest" if error.status == 422 else ""
        return f"{live.key}: the API server refuses the change: {str(error)[:400]}{hint}"
    lost = next(_lost(live.wanted, stored, ""), None)
    if lost:
        return f"{live.key}: the API server, or a webhook of it, does not keep {lost}"
    # What a rewrite brings back to what it was before has none.
    if way_back.BEFORE in table(at(live.wanted, "metadata", "annotations")):
        (was,) = move.back([live.wanted]).documents
        way_back.forget(stored)
        stored = way_back.remembering(was, stored)
    live.wanted = stored
    return None


def _lost(wanted: Any, stored: Any, place: str) -> Iterator[str]:
    """The place of a requested value that is missing. Values that the API server adds do not count."""
    if isinstance(wanted, dict) and isinstance(stored, dict):
        for name, value in wanted.items():
            if value not in ({}, [], None):
                yield from _lost(value, stored.get(name), f"{place}/{name}")
    elif isinstance(wanted, list) and isinstance(stored, list) and len(wanted) <= len(stored):
        for number, value in enumerate(wanted):
            yield from _lost(value, stored[number], f"{place}/{number}")
    elif not patch.same(wanted, stored):
        yield place


def _kept(live: _Live, managers: Sequence[str]) -> Optional[str]:
    """The owner that would revert the change."""
    maker = _controller(live.meta)
    if maker:
        return f"{live.key}: {text(maker.get('kind'))} {text(maker.get('name'))} created it: change that object instead"
    owners = manifest_owner.keepers(live.meta, (FIELD_MANAGER, *managers))
    told = ", ".join(texts.owner_text(owner) for owner in owners)
    return f"{live.key} would be changed back: change it in {told}" if told else None


def _write(client: Client, changing: Sequence[_Live]) -> None:
    done: List[str] = []
    for live in changing:
        try:
            _write_one(client, live)
        except ClusterError as error:
            told = f"Changed before: {', '.join(done)}" if done else "No object was changed"
            raise ClusterError(f"{live.key}: {error}. {told}. Run the same command again to continue.") from error
        done.append(str(live.key))


def _write_one(client: Client, live: _Live) -> None:
    version = live.meta.get("resourceVersion")
    for number in range(_TRIES):
        try:
            _patch(client, live, version)
            return
        except ApiError as error:
            if error.status != 409 or number == _TRIES - 1:
                raise
        # Controllers write the status whenever they like. Anything else is for a new look.
        now = client.get(live.path)
        if not patch.same(_bare(live.resource, now), live.bare) or metadata(now).get("uid") != live.meta.get("uid"):
            raise ClusterError("somebody else has changed it meanwhile")
        version = metadata(now).get("resourceVersion")
