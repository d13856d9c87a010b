# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The parent in the cluster, written so that two runs at the same time lose no member.

The parent is all that tells a later run where the members are. A run therefore writes it before its first change and
after its last one, each time on the condition that nobody else has written it since the run read it (resourceVersion:
kubernetes/community, contributors/devel/sig-architecture/api-conventions.md, "Concurrency Control and Consistency").
The first of these writes puts a mark on the parent and the second removes it, so each of them changes the
resourceVersion. Of two runs that overlap, one finds out: before its first change, when it can plan again, or at its
end, when it adds the members of both to the parent and fails.
"""

from __future__ import annotations

import time
import uuid
from http import HTTPStatus
from typing import Mapping, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ApiError, ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import Object, metadata
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.parent import (
    PARENT_MANAGER,
    Parent,
    Scope,
)

# Annotation of a parent whose set is being changed: which run does it.
_RUN = "zerocopy.rdma/run"
# Seconds to wait for another run. One that was killed leaves its mark, so this is not for ever.
_BUSY_SECONDS = 15.0
_BUSY_PAUSE = 0.5
_SECURE_ATTEMPTS = 10


class OvertakenError(ClusterError):
    """Another run has written the parent since this one read it, or is about to."""


class LiveParent:
    """The parent as this run last read or wrote it."""

    def __init__(self, client: Client, parent: Parent) -> None:
        """Raises ClusterError when the Secret is not a parent of ours."""
        self._client = client
        self._parent = parent
        self._list = f"/api/v1/namespaces/{parent.namespace}/secrets"
        self._live = client.find(parent.path)
        self._run = uuid.uuid4().hex
        self._open = False
        # The current content of the parent, None if there is no parent.
        self.stated = parent.read(self._live)

    @property
    def exists(self) -> bool:
        return self._live is not None

    @property
    def is_open(self) -> bool:
        """Whether this run has begun to change the set."""
        return self._open

    @property
    def is_busy(self) -> bool:
        """Whether another run was changing the set when the parent was read, or was killed doing so."""
        return _RUN in (metadata(self._live or {}).get("annotations") or {})

    def try_to_create(self) -> None:
        """Have the API server try the creation in a dry run. Raises ClusterError, OvertakenError."""
        try:
            self._create(self._parent.object(self._parent.scope()), dry=True)
        except ApiError as error:
            raise self._explained(error) from error

    def open(self, scope: Scope) -> None:
        """Write the scope before the first change. Raises ClusterError, OvertakenError."""
        self._write(scope, self._run)
        self._open = True

    def close(self, scope: Scope) -> None:
        """Write the scope after the last change. Raises ClusterError, OvertakenError."""
        self._write(scope, None)
        self._open = False

    def remove(self, check: bool) -> None:
        """Delete the parent, in check mode by a dry run. Raises ClusterError, OvertakenError."""
        meta = metadata(self._live or {})
        preconditions = {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}
        options: Object = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": preconditions}
        if check:
            options["dryRun"] = ["All"]
        try:
            self._client.delete(self._parent.path, options)
        except ApiError as error:
            raise self._explained(error) from error
        self._open = False
        if not check:
            self._live = None
            self.stated = None

    def secure(self, scope: Scope) -> None:
        """Have the parent name this scope in addition to what any other run has written since. Raises ClusterError."""
        for _attempt in range(_SECURE_ATTEMPTS):
            live = self._client.find(self._parent.path)
            stated = self._parent.read(live)
            mark = (metadata(live or {}).get("annotations") or {}).get(_RUN)
            self._live = live
            try:
                self._write(scope | (stated or scope), None if mark == self._run else mark)
                break
            except OvertakenError:
                continue
        self._open = False

    def wait_until_idle(self) -> bool:
        """Wait for the run that is changing the set; False if it did not end in time. Raises ClusterError."""
        deadline = time.monotonic() + _BUSY_SECONDS
        while time.monotonic() < deadline:
            self._live = self._client.find(self._parent.path)
            if not self.is_busy:
                return True
            time.sleep(_BUSY_PAUSE)
        return False

    def _write(self, scope: Scope, mark: Optional[str]) -> None:
        item = self._parent.object(scope)
        annotations = {**item["metadata"]["annotations"], _RUN: mark}
        if self._live is None:
            if mark:
                item["metadata"]["annotations"] = annotations
            try:
                self._live = self._create(item, dry=False)
            except ApiError as error:
                self._live = self._written(error, item["metadata"]["annotations"], mark)
        else:
            meta = metadata(self._live)
            change = {
                "uid": meta["uid"],
                "resourceVersion": meta["resourceVersion"],
                "labels": item["metadata"]["labels"],
                "annotations": annotations,
            }
            query = {"fieldManager": PARENT_MANAGER, "fieldValidation": "Strict"}
            try:
                self._live = self._client.merge(self._parent.path, {"metadata": change}, query).body
            except ApiError as error:
                self._live = self._written(error, item["metadata"]["annotations"], mark)
        self.stated = scope

    def _written(self, error: ApiError, annotations: Mapping[str, str], mark: Optional[str]) -> Object:
        """The parent, where only the answer to this write was lost. Raises ClusterError, OvertakenError."""
        if error.status == HTTPStatus.CONFLICT and error.repeated:
            live = self._client.find(self._parent.path)
            found = metadata(live or {}).get("annotations") or {}
            if live and found.get(_RUN) == mark and {**found, **annotations} == found:
                return live
        raise self._explained(error) from error

    def _create(self, item: Object, dry: bool) -> Object:
        query = {"fieldManager": PARENT_MANAGER, "fieldValidation": "Strict"}
        return self._client.create(self._list, item, {**query, "dryRun": "All"} if dry else query).body

    def _explained(self, error: ApiError) -> ClusterError:
        called = f"Secret {self._parent.namespace}/{self._parent.name}"
        if error.status == 409 or (error.status == 404 and self._live is not None):
            return OvertakenError(f"{called}, the parent of the set, was changed by another run at the same time")
        if error.status == 404:
            return ClusterError(
                f"the namespace {self._parent.namespace} for the parent of the set does not exist. The set itself "
                f"cannot create it: create it first, or choose one that exists, such as kube-system"
            )
        return ClusterError(f"{called}, the parent of the set: {error}")
