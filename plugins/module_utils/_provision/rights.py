# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Which rights a run needs that this user does not have, so that all are told before anything is changed.

An administrator costs one question, whether everything is allowed. Anybody else is asked about one by one
(SelfSubjectAccessReview), eight at a time. SelfSubjectRulesReview would say it in one answer for each namespace, but
not where a webhook authorizes as well (EKS, GKE), and its rules would have to be interpreted here. Sources:
Kubernetes, "Authorization" and "Privilege escalation prevention and bootstrapping".
"""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Set, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.steps import (
    AnyStep,
    CountersStep,
    FieldsStep,
    HeldCheck,
    LabelsStep,
    LeafLabelsStep,
    LeftoversStep,
    ObjectsStep,
    RestartStep,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision import object_fields, restart
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api import review
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.discovery import ACCEPT, Api, Resource
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ApiError, ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import GroupKind, Object, metadata
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.review import Right
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.content_hash import REFERENCES
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.intake import DEFINITION, intake
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.managed import applied_by
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.parent import Parent, Scope
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.plan import members_of, places_of
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.usage import SetMember, kinds_of_users
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.rollout import wait

_RBAC, _DRA = "rbac.authorization.k8s.io", "resource.k8s.io"
_WHEREABOUTS = "whereabouts.cni.cncf.io"


def missing(client: Client, steps: Sequence[AnyStep], look: Optional[Mapping[str, Any]] = None) -> List[str]:
    """The rights that these steps, and a look at the cluster (options of ``cluster_info``), need and this user does not
    have, in words. Raises ClusterError.
    """
    try:
        if review.is_administrator(client):
            return []
        found = _missing(client, steps, look or {})
    except ApiError as error:
        # Then nobody can tell before it is tried.
        if error.status in (HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND):
            return []
        raise
    verbs: Dict[str, List[str]] = {}
    for right in found:
        verbs.setdefault(right.place, []).append(right.verb)
    told = {place: " and ".join(filter(None, [", ".join(each[:-1]), each[-1]])) for place, each in verbs.items()}
    return [f"this user has no right to {each} {place}" for place, each in told.items()]


def _missing(client: Client, steps: Sequence[AnyStep], look: Mapping[str, Any]) -> List[Right]:
    api = Api(client.all(lambda root: client.get(root, accept=ACCEPT), ["/api", "/apis"]))
    objects = [item for step in steps if isinstance(step, ObjectsStep) for item in step.objects]
    for item in objects:
        if item["kind"] == DEFINITION.kind:
            api.add_definition(item)
    needed = [*_of_look(api, look), *(right for step in steps for right in _of_step(client, api, step))]
    return list(dict.fromkeys([*_denied(client, needed), *_escalations(client, objects)]))


def _of_look(api: Api, look: Mapping[str, Any]) -> Iterator[Right]:
    """Without the other rights that it makes use of, the answer is only a smaller one."""
    if not look:
        return
    yield Right("list", "", "nodes")
    if api.find(GroupKind(_DRA, "ResourceClaim")):
        yield Right("list", _DRA, "resourceclaims")
    sets = look.get("sets") or []
    if sets:
        yield Right("list", "apps", "daemonsets")
    for each in sets:
        yield Right("get", "", "secrets", each["namespace"], each["name"])
    kinds = {str(resource.group_kind): resource for resource in api.all()}
    for each in look.get("objects") or []:
        kind = kinds.get(each["kind"])
        if kind:
            yield Right("list", kind.group, kind.plural, name=each.get("name") or "")
    if look.get("published") is not None:
        yield Right("list", _DRA, "resourceslices")
        yield Right("list", _DRA, "deviceclasses")
        if look["published"].get("wait"):
            yield Right("watch", _DRA, "resourceslices")


def _of_step(client: Client, api: Api, step: AnyStep) -> Iterator[Right]:
    if isinstance(step, ObjectsStep):
        yield from _of_set(client, api, step)
    elif isinstance(step, LabelsStep) and step.nodes:
        yield Right("list", "", "nodes")
        yield Right("patch", "", "nodes")
    elif isinstance(step, LeafLabelsStep):
        for verb in ("list", "get", "patch"):
            yield Right(verb, "", "nodes")
    elif isinstance(step, (CountersStep, LeftoversStep)) and step.nodes:
        for verb in ("list", "get") + ("watch",) * isinstance(step, LeftoversStep):
            yield Right(verb, "", "nodes")
        yield Right("patch", "", "nodes", subresource="status")
        # Where something is to go.
        if isinstance(step, LeftoversStep) or not all(step.nodes.values()):
            yield Right("list", "", "pods")
    elif isinstance(step, FieldsStep):
        kind = _kind(api, step.object)
        if kind:
            yield from _of_fields(client, kind, step)
    elif isinstance(step, HeldCheck) and step.nodes:
        yield Right("list", "", "pods")
    elif isinstance(step, RestartStep):
        yield Right("list", "", "pods", step.namespace)
        if _restarts(client, step):
            yield Right("delete", "", "pods", step.namespace)
        if step.wait and step.nodes:
            yield Right("watch", "", "pods", step.namespace)


def _of_fields(client: Client, kind: Resource, step: FieldsStep) -> Iterator[Right]:
    name = str(metadata(step.object)["name"])
    yield Right("get", kind.group, kind.plural, name=name)
    try:
        live = client.find(kind.path("", name))
    except ApiError:
        # That right is missing as well.
        return
    if "spec" in step.object:
        yield Right("patch", kind.group, kind.plural, name=name)
        if live is None:
            yield Right("create", kind.group, kind.plural)
    elif live is not None and applied_by(step.manager, live) is not None:
        verb = "patch" if object_fields.others(step.manager, live) else "delete"
        yield Right(verb, kind.group, kind.plural, name=name)


def _restarts(client: Client, step: RestartStep) -> bool:
    try:
        return bool(step.nodes) or bool(restart.restart(client, step, check=True)["changed"])
    except ClusterError:
        # That right is missing as well.
        return False


def _of_set(client: Client, api: Api, step: ObjectsStep) -> Iterator[Right]:
    parent = Parent(step.name, step.namespace)
    yield Right("get", "", "secrets", step.namespace, step.name)
    if step.objects or not step.prune:
        yield Right("create", "", "secrets", step.namespace)
        yield Right("patch", "", "secrets", step.namespace, step.name)
    found = [(_kind(api, item), item) for item in step.objects]
    # A kind that is not served is an error of its own.
    served = [(kind, item) for kind, item in found if kind]
    for kind, item in served:
        yield from _of_object(kind, item, step.wait)
    stated, going = _leftovers(client, api, step, parent) if step.prune else (None, None)
    names = [str(metadata(item).get("namespace") or "") for kind, item in served if kind.namespaced]
    scope = parent.scope((kind.group_kind for kind, _item in served), names) | (stated or parent.scope())
    places = places_of([kind for kind in map(api.find, sorted(scope.kinds)) if kind], scope.namespaces)
    for kind, namespace in places:
        yield Right("list", kind.group, kind.plural, namespace)
    if stated is not None:
        yield from _of_pruning(api, step, places, going)


def _kind(api: Api, item: Object) -> Optional[Resource]:
    return api.find(GroupKind(item["apiVersion"].rpartition("/")[0], item["kind"]))


def _of_object(kind: Resource, item: Object, awaited: bool) -> Iterator[Right]:
    namespace = str(metadata(item).get("namespace") or "") if kind.namespaced else ""
    yield Right("create", kind.group, kind.plural, namespace)
    awaited = kind.group_kind == DEFINITION or (awaited and wait.judged(kind.group_kind))
    # The names of claims and templates have yet to get a hash.
    name = "" if kind.group_kind in REFERENCES else str(metadata(item)["name"])
    for verb in ("patch", "get", "watch") if awaited else ("patch",):
        yield Right(verb, kind.group, kind.plural, namespace, name)
    if awaited and kind.namespaced:
        yield Right("list", "", "pods", namespace)


def _of_pruning(
    api: Api, step: ObjectsStep, places: Sequence[Tuple[Resource, str]], going: Optional[Sequence[SetMember]]
) -> Iterator[Right]:
    """What the set has and the plan does not. All of a set that is removed counts, even if it cannot be listed."""
    ends = ("delete", "get", "watch") if step.wait else ("delete",)
    if not step.objects:
        yield Right("delete", "", "secrets", step.namespace, step.name)
    if going is None and not step.objects:
        for kind, namespace in places:
            yield from (Right(verb, kind.group, kind.plural, namespace) for verb in ends)
    for member in going or ():
        key, kind = member.key, member.resource
        yield from (Right(verb, kind.group, kind.plural, key.namespace, key.name) for verb in ends)
        for user in filter(None, map(api.find, kinds_of_users(member))):
            yield Right("list", user.group, user.plural)
        if key.group_kind == DEFINITION and step.pools:
            yield Right("list", _WHEREABOUTS, "ippools", step.pools)
            yield Right("delete", _WHEREABOUTS, "ippools", step.pools)
            yield Right("delete", "coordination.k8s.io", "leases", step.pools, "whereabouts")


def _leftovers(
    client: Client, api: Api, step: ObjectsStep, parent: Parent
) -> Tuple[Optional[Scope], Optional[List[SetMember]]]:
    """What the parent states, and the members that go; ``None`` where there is none, or it cannot be read."""
    stated = None
    try:
        stated = parent.read(client.find(parent.path))
        if stated is None:
            return None, None
        wanted = intake(step.objects, parent, api, lambda: client.get("/version"))
        found = members_of(client, api, parent, stated, wanted)
    except ClusterError:
        # A right that is missing as well, or an error that applying the set tells.
        return stated, None
    keys = {item.key for item in wanted}
    return stated, [member for key, member in found.items() if key not in keys]


def _escalations(client: Client, objects: Sequence[Object]) -> List[Right]:
    """Nobody may give a right that they neither have nor may give."""
    roles = {metadata(item)["name"]: item for item in objects if item["kind"] == "ClusterRole"}
    bound = [item["roleRef"]["name"] for item in objects if item["kind"] == "ClusterRoleBinding"]
    asked = [Right("escalate", _RBAC, "clusterroles", name=name) for name in roles]
    asked += [Right("bind", _RBAC, "clusterroles", name=name) for name in bound]
    denied = _denied(client, asked)
    ours = dict.fromkeys(right.name for right in denied if right.name in roles)
    lacking = {name for name in ours if _denied(client, list(_granted(roles[name])))}
    return [right for right in denied if right.name not in roles or right.name in lacking]


def _granted(role: Object) -> Iterator[Right]:
    for rule in role.get("rules") or []:
        for group in rule.get("apiGroups") or []:
            for resource in rule.get("resources") or []:
                plural, _slash, sub = resource.partition("/")
                for name in rule.get("resourceNames") or [""]:
                    for verb in rule["verbs"]:
                        yield Right(verb, group, plural, name=name, subresource=sub)


def _denied(client: Client, rights: Sequence[Right]) -> List[Right]:
    """Those that this user does not have. A right for all objects of a kind is one for each of them."""
    wanted = list(dict.fromkeys(rights))
    general = _refused(client, [replace(right, name="") for right in wanted])
    left = [right for right in wanted if replace(right, name="") in general]
    named = _refused(client, [right for right in left if right.name])
    return [right for right in left if not right.name or right in named]


def _refused(client: Client, rights: Iterable[Right]) -> Set[Right]:
    asked = list(dict.fromkeys(rights))
    answers = client.all(lambda each: review.is_allowed(client, each), asked)
    return {right for right, allowed in zip(asked, answers) if not allowed}
