# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The parent object, identifier and labels of an ApplySet.

Source: ApplySet specification, KEP-3659 (kubernetes/enhancements, keps/sig-cli/3659-kubectl-apply-prune), with the
names that kubectl 1.36 uses (kubernetes/kubectl, pkg/cmd/apply/applyset.go): the KEP says ``applyset.k8s.io``, kubectl
``applyset.kubernetes.io``.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from typing import Dict, FrozenSet, Iterable, Mapping, Optional, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import GroupKind, Object, metadata
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import names, state_version

PART_OF = "applyset.kubernetes.io/part-of"
_ID = "applyset.kubernetes.io/id"
_TOOLING = "applyset.kubernetes.io/tooling"
_KINDS = "applyset.kubernetes.io/contains-group-kinds"
_NAMESPACES = "applyset.kubernetes.io/additional-namespaces"

TOOL = "zerocopy.rdma"
# That of the collection. Sets of a release with a greater first number are refused.
VERSION = "v1.0.0"
# As kubectl does it: the parent has a field manager of its own, named after the tool.
PARENT_MANAGER = f"{TOOL}-applyset"


@dataclass(frozen=True)
class Scope:
    """Where the members of a set may be: group-kinds and namespaces, that of the parent always among them."""

    kinds: FrozenSet[GroupKind]
    namespaces: FrozenSet[str]

    def __or__(self, other: Scope) -> Scope:
        return Scope(self.kinds | other.kinds, self.namespaces | other.namespaces)


@dataclass(frozen=True)
class Parent:
    """The Secret that stands for a set, kubectl's default kind of parent."""

    name: str
    namespace: str

    def check(self) -> None:
        """Raises ClusterError when no Secret can have the name, or no namespace has it."""
        if not names.is_subdomain(self.name):
            right = "it must be the name of a Secret: lower-case letters, digits, hyphens and dots"
            raise ClusterError(f"name is {self.name!r}, {right}")
        if not names.is_label(self.namespace):
            right = "it must be the name of a namespace: lower-case letters, digits and hyphens"
            raise ClusterError(f"namespace is {self.namespace!r}, {right}")

    @property
    def id(self) -> str:
        """The set's identifier: label of the parent and, as ``part-of``, of each member."""
        unhashed = f"{self.name}.{self.namespace}.Secret."
        digest = base64.urlsafe_b64encode(hashlib.sha256(unhashed.encode()).digest())
        return f"applyset-{digest.decode().rstrip('=')}-v1"

    @property
    def path(self) -> str:
        return f"/api/v1/namespaces/{self.namespace}/secrets/{self.name}"

    def scope(self, kinds: Iterable[GroupKind] = (), namespaces: Iterable[str] = ()) -> Scope:
        """A scope; cluster-scoped objects have no namespace, which is left out."""
        return Scope(frozenset(kinds), frozenset(namespaces) - {""} | {self.namespace})

    def object(self, scope: Scope) -> Object:
        """The parent of a set whose members are in ``scope``."""
        return {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": self.name,
                "namespace": self.namespace,
                "labels": {_ID: self.id},
                "annotations": {
                    _TOOLING: f"{TOOL}/{VERSION}",
                    _KINDS: ",".join(sorted(str(kind) for kind in scope.kinds)),
                    _NAMESPACES: ",".join(sorted(scope.namespaces - {self.namespace})),
                },
            },
        }

    def read(self, live: Optional[Object]) -> Optional[Scope]:
        """The scope that the live parent states, none if there is no parent yet.

        Raises ClusterError when the Secret is no parent, that of another tool or of a newer version, or damaged.
        """
        if live is None:
            return None
        meta = metadata(live)
        labels: Mapping[str, str] = meta.get("labels") or {}
        annotations: Mapping[str, str] = meta.get("annotations") or {}
        called = f"Secret {self.namespace}/{self.name}"
        if _ID not in labels and _TOOLING not in annotations:
            raise ClusterError(
                f"{called} exists, but is not the parent of an ApplySet: choose another name for the set"
            )
        self._ours(called, annotations.get(_TOOLING, ""))
        if labels.get(_ID) != self.id:
            raise ClusterError(
                f"{called} has the label {_ID}={labels.get(_ID)}, but the set of this name and namespace is {self.id}. "
                f"If it was copied or renamed, fix this, or choose another name for the set"
            )
        if _KINDS not in annotations:
            raise ClusterError(
                f"{called} does not have the annotation {_KINDS}, so the members of the set cannot be found. "
                f"Add it with their kinds, for example {_KINDS}=DaemonSet.apps,Secret"
            )
        kinds = [_group_kind(text) for text in annotations[_KINDS].split(",") if text]
        return self.scope(kinds, annotations.get(_NAMESPACES, "").split(","))

    def _ours(self, called: str, tooling: str) -> None:
        """The specification has tools refuse what belongs to another one; handing over is for a person to decide."""
        owner, _slash, release = tooling.rpartition("/")
        owner = owner or tooling
        if owner != TOOL:
            raise ClusterError(
                f"{called} is the ApplySet of {owner or 'an unnamed tool'}, not of {TOOL}. To hand the set over: "
                f"kubectl annotate --overwrite -n {self.namespace} secret {self.name} {_TOOLING}={TOOL}/{VERSION}"
            )
        try:
            newest = state_version.major(VERSION) or state_version.FIRST
            state_version.known(state_version.major(release), newest, state_version.FIRST)
        except state_version.NewerVersionError as error:
            raise ClusterError(f"{called}, the parent of a set of objects, {error}") from error


def secrets(namespace: str) -> Tuple[str, Dict[str, str]]:
    """Where all Secrets of a namespace are listed that are parents of any tool: path and query."""
    return f"/api/v1/namespaces/{namespace}/secrets", {"labelSelector": _ID}


def is_ours(secret: Object) -> bool:
    """Whether a parent is one of this tool."""
    tooling = (metadata(secret).get("annotations") or {}).get(_TOOLING, "")
    return str(tooling).rpartition("/")[0] == TOOL


def _group_kind(text: str) -> GroupKind:
    kind, _dot, group = text.partition(".")
    return GroupKind(group, kind)
