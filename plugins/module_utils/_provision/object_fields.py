# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Some fields of an object that others have fields of as well.

Server-side apply keeps apart whose field is whose, by field manager (Kubernetes documentation, "Server-Side Apply").
What is applied here takes no field from anybody, and what is taken back leaves the fields of others. Only an object of
which nobody else has a field is deleted.
"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.discovery import ACCEPT, Api, Resource
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ApiError, ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import (
    GroupKind,
    Object,
    ObjectKey,
    metadata,
    split_version,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client, Query
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.difference import difference, same
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.managed import applied_by

# The controller of the object writes its status at any moment.
_ATTEMPTS = 10


@dataclass(frozen=True)
class FieldsRequest:
    """What the user asks for; ``wanted`` has the fields, and no others, beside what identifies the object.

    ``without`` are fields (``spec.driver``) that nobody else may have there.
    """

    wanted: Object
    manager: str
    present: bool = True
    without: Sequence[str] = ()
    check: bool = False
    diff: bool = False


def converge(client: Client, request: FieldsRequest) -> Dict[str, Any]:
    """Do what is asked for and return the module's result. Raises ClusterError before anything is changed."""
    group, version = split_version(request.wanted["apiVersion"])
    kind, meta = GroupKind(group, request.wanted["kind"]), request.wanted["metadata"]
    api = Api(client.all(lambda root: client.get(root, accept=ACCEPT), ["/api", "/apis"]))
    key = ObjectKey(group, kind.kind, str(meta.get("namespace") or ""), meta["name"])
    if not request.present and api.find(kind) is None:
        return _result(request, key, "unchanged", None, None)
    resource = api.must_find(kind, version)
    for _attempt in range(_ATTEMPTS):
        try:
            return _Fields(client, request, key, resource).result()
        except ApiError as error:
            if error.status != HTTPStatus.CONFLICT or error.causes:
                raise ClusterError(f"{key}: {error}") from error
    raise ClusterError(f"{key}: others kept changing it, so it was not changed: run again")


def others(manager: str, live: Object) -> List[str]:
    """Whose fields the object has beside those of ``manager``; its status is its controller's and goes with it."""
    own = applied_by(manager, live)
    entries = metadata(live).get("managedFields") or []
    return [str(entry.get("manager")) for entry in entries if entry is not own and not entry.get("subresource")]


class _Fields:
    def __init__(self, client: Client, request: FieldsRequest, key: ObjectKey, resource: Resource) -> None:
        self._client = client
        self._request = request
        self._key = key
        self._path = resource.path(key.namespace, key.name)
        self._before = client.find(self._path)

    def result(self) -> Dict[str, Any]:
        """Do it once. Raises ClusterError, and ApiError 409 when the object has changed meanwhile."""
        if self._request.present:
            action, after = self._applied()
        else:
            action, after = self._released()
        return _result(self._request, self._key, action, self._before, after)

    def _applied(self) -> Tuple[str, Optional[Object]]:
        body = self._request.wanted
        after = self._write(body, dry=True)
        self._refuse_others(after)
        if self._before is not None and same(self._before, after, self._request.manager):
            return "unchanged", after
        if not self._request.check:
            after = self._write(body)
        return "configured" if self._before else "created", after

    def _released(self) -> Tuple[str, Optional[Object]]:
        before = self._before
        if before is None or applied_by(self._request.manager, before) is None:
            self._refuse_others(before)
            return "unchanged", before
        meta = metadata(before)
        if not others(self._request.manager, before):
            options: Object = {
                "apiVersion": "v1",
                "kind": "DeleteOptions",
                "preconditions": {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]},
                **({"dryRun": ["All"]} if self._request.check else {}),
            }
            self._client.delete(self._path, options)
            return "pruned", None
        identity = {name: meta[name] for name in ("name", "namespace", "resourceVersion", "uid") if name in meta}
        body = {name: self._request.wanted[name] for name in ("apiVersion", "kind")}
        body["metadata"] = identity
        after = self._write(body, dry=True)
        self._refuse_others(after)
        if not self._request.check:
            after = self._write(body)
        return "configured", after

    def _write(self, body: Object, dry: bool = False) -> Object:
        """What the object is with these fields. Raises ClusterError where somebody else has one of them."""
        query: Query = {"fieldManager": self._request.manager, "fieldValidation": "Strict", "force": "false"}
        try:
            return self._client.apply(self._path, body, {**query, "dryRun": "All"} if dry else query).body
        except ApiError as error:
            if error.conflicts:
                remedy = "it was not changed: remove these fields there, or do without them here"
                raise ClusterError(f"{self._key}: {'; '.join(error.conflicts)}; {remedy}") from error
            raise

    def _refuse_others(self, after: Optional[Object]) -> None:
        """:raises ClusterError: a field is there that must not be."""
        for field in self._request.without:
            path = field.split(".")
            if after is not None and _within(after, path):
                entries = metadata(after).get("managedFields") or []
                names = [f"f:{name}" for name in path]
                owners = sorted({str(entry.get("manager")) for entry in entries if _within(entry["fieldsV1"], names)})
                whose = " and ".join(owners) or "somebody else"
                raise ClusterError(
                    f"{self._key}: {field} belongs to {whose}; the object was not changed: remove it there first"
                )


def _within(tree: Any, path: Sequence[str]) -> bool:
    for name in path:
        if not isinstance(tree, Mapping) or name not in tree:
            return False
        tree = tree[name]
    return True


def _result(
    request: FieldsRequest, key: ObjectKey, action: str, before: Optional[Object], after: Optional[Object]
) -> Dict[str, Any]:
    told = {
        "api_version": request.wanted["apiVersion"],
        "kind": key.kind,
        "namespace": key.namespace,
        "name": key.name,
        "action": action,
    }
    changed = action != "unchanged"
    result = {"changed": changed, "objects": [told]}
    if request.diff:
        result["diff"] = [difference(key, before, after)] if changed else []
    return result
