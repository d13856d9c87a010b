# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""From the user's objects to those that are sent: checked, completed, named, in a version that the API server has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Set, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api import dra_version
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.discovery import Api, Resource
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import (
    GroupKind,
    Object,
    ObjectKey,
    listed,
    split_version,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset import content_hash
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.content_hash import ALIAS, REFERENCES
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.difference import SECRET_FIELDS
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.parent import PART_OF, Parent
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import names

DEFINITION = GroupKind("apiextensions.k8s.io", "CustomResourceDefinition")


@dataclass(frozen=True)
class Wanted:
    """An object of the set as it is sent."""

    key: ObjectKey
    resource: Resource
    body: Object
    # The user's name of an object whose name is made from its content, otherwise "".
    alias: str = ""


def intake(
    objects: Sequence[Mapping[str, Any]], parent: Parent, api: Api, ask_version: Callable[[], Mapping[str, Any]]
) -> List[Wanted]:
    """All objects of the set, in the user's order. ``api`` learns the kinds that the set defines.

    ``ask_version`` is for :func:`api.dra_version.negotiate`. Raises ClusterError with everything that is wrong.
    """
    problems: List[str] = []
    sound: List[Tuple[str, Object]] = []
    for position, item in enumerate(objects):
        wrong = _shape(item)
        place = f"objects[{position}]"
        if wrong:
            problems.append(f"{place}: {wrong}")
        else:
            own = {**item, "metadata": dict(item["metadata"])}
            sound.append((f"{place} ({item['kind']} {item['metadata']['name']})", own))
    _definitions(sound, api, problems)
    dra = None
    if any(split_version(item["apiVersion"])[0] == dra_version.GROUP for _place, item in sound):
        dra = dra_version.negotiate(api.versions(dra_version.GROUP), ask_version)
    found: List[Wanted] = []
    for place, item in sound:
        try:
            found.append(_one(item, parent, api, dra))
        except ClusterError as error:
            problems.append(f"{place}: {error}")
    problems += _twice(found)
    if problems:
        raise ClusterError(listed(problems))
    return _referring(found)


def _shape(item: Mapping[str, Any]) -> str:
    """What is wrong with an object by itself, ``""`` if nothing is."""
    for field in ("apiVersion", "kind"):
        if not isinstance(item.get(field), str) or not item[field]:
            return f"{field} is missing"
    meta = item.get("metadata")
    if not isinstance(meta, dict) or not isinstance(meta.get("name"), str) or not meta["name"]:
        return f"metadata.name of the {item['kind']} is missing; generateName is not enough, for each run would add one"
    if not _is_segment(meta["name"]):
        return (
            f"metadata.name of the {item['kind']} is {meta['name']!r}, which the API server does not accept as a name"
        )
    namespace = meta.get("namespace")
    if namespace is not None and not (isinstance(namespace, str) and (namespace == "" or names.is_label(namespace))):
        right = "it must be a name of lower-case letters, digits and hyphens"
        return f"metadata.namespace of {item['kind']} {meta['name']} is {namespace!r}, {right}"
    for field in ("labels", "annotations"):
        if not isinstance(meta.get(field) or {}, dict):
            return f"metadata.{field} of {item['kind']} {meta['name']} is not a mapping"
    for field in ("managedFields", "resourceVersion", "uid"):
        if field in meta:
            return f"metadata.{field} of {item['kind']} {meta['name']} is set by the API server: leave it out"
    if PART_OF in (meta.get("labels") or {}):
        return f"label {PART_OF} of {item['kind']} {meta['name']} is set by this module: leave it out"
    return _values(item) if (item["apiVersion"], item["kind"]) == ("v1", "Secret") else ""


def _is_segment(name: str) -> bool:
    """Whether a name can be in a path, the rule for all kinds (apimachinery, pkg/api/validation/path/name.go)."""
    return name not in (".", "..") and not {"/", "%"} & set(name)


def _values(secret: Mapping[str, Any]) -> str:
    """What is wrong with the values of a Secret. The API server would print them."""
    for field in SECRET_FIELDS:
        values = secret.get(field)
        if values is not None and not isinstance(values, dict):
            return f"{field} of Secret {secret['metadata']['name']} is not a mapping"
        for name, value in (values or {}).items():
            if value is not None and not isinstance(value, str):
                return f"{field}.{name} of Secret {secret['metadata']['name']} is not text: quote it in YAML"
    return ""


def _definitions(sound: Sequence[Tuple[str, Object]], api: Api, problems: List[str]) -> None:
    """Add the kinds that the set defines to ``api``."""
    for place, item in sound:
        if (split_version(item["apiVersion"])[0], item["kind"]) == DEFINITION:
            try:
                api.add_definition(item)
            except ClusterError as error:
                problems.append(f"{place}: {error}")


def _one(item: Object, parent: Parent, api: Api, dra: Optional[str]) -> Wanted:
    group, _version = split_version(item["apiVersion"])
    kind = GroupKind(group, item["kind"])
    meta = item["metadata"]
    alias = ""
    if kind in REFERENCES:
        alias = meta["name"]
        meta["name"] = content_hash.hashed(alias, item.get("spec"))
    if dra:
        item = dra_version.converted(item, dra)
        meta = item["metadata"]
    resource = api.must_find(kind, split_version(item["apiVersion"])[1])
    # Null and "" are no namespace to the API server, as in a manifest whose template had no value.
    namespace = meta.pop("namespace", None) or ""
    if resource.namespaced:
        meta["namespace"] = namespace or parent.namespace
    elif namespace:
        raise ClusterError(f"a {kind.kind} is cluster-scoped: leave metadata.namespace out")
    meta["labels"] = {**(meta.get("labels") or {}), PART_OF: parent.id, **({ALIAS: alias} if alias else {})}
    key = ObjectKey(group, kind.kind, meta.get("namespace", ""), meta["name"])
    if key == ObjectKey("", "Secret", parent.namespace, parent.name):
        raise ClusterError("the Secret of this name is the parent of the set, and cannot be one of its members")
    if key == ObjectKey("", "Namespace", "", parent.namespace):
        raise ClusterError(
            "the Namespace of the set's parent cannot be one of its members, or removing the set would delete whatever "
            "else is in it. Choose another namespace for the parent, such as kube-system"
        )
    return Wanted(key, resource, item, alias)


def _twice(found: Sequence[Wanted]) -> List[str]:
    """Objects that are there more than once. Of those with an alias, the alias counts."""
    seen: Set[ObjectKey] = set()
    problems = []
    for wanted in found:
        key = wanted.key._replace(name=wanted.alias or wanted.key.name)
        if key in seen:
            problems.append(f"{key} is in the set twice")
        seen.add(key)
    return problems


def _referring(found: Sequence[Wanted]) -> List[Wanted]:
    """The same, with the names of claims and templates where others name them by alias."""
    own_names: Dict[str, Dict[Tuple[str, str], str]] = {}
    for wanted in found:
        if wanted.alias:
            field = REFERENCES[wanted.key.group_kind]
            own_names.setdefault(wanted.key.namespace, {})[field, wanted.alias] = wanted.key.name
    return [
        wanted
        if wanted.alias or wanted.key.namespace not in own_names
        else Wanted(
            wanted.key,
            wanted.resource,
            content_hash.renamed(wanted.body, own_names[wanted.key.namespace]),
        )
        for wanted in found
    ]
