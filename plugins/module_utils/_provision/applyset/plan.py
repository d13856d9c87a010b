# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What has to be done to make the cluster have the set, found out without changing anything."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Dict, Iterable, List, Optional, Sequence, Set, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.discovery import ACCEPT, Api, Resource
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ApiError, ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import (
    GroupKind,
    Object,
    ObjectKey,
    key_of,
    listed,
    metadata,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import (
    FIELD_MANAGER,
    JSON,
    METADATA,
    METADATA_LIST,
    Client,
    Response,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset import foreign
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.content_hash import ALIAS, REFERENCES
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.difference import same
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.intake import Wanted, intake
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.live_parent import LiveParent
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.managed import unchanged
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.parent import PART_OF, Parent, Scope
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.usage import SetMember
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import counted

REJECTED = "rejected"
# Of webhooks, and of ValidatingAdmissionPolicies.
_DENIED = re.compile("denied (?:the )?request")


@dataclass(frozen=True)
class ApplysetRequest:
    """What the user asks for."""

    name: str
    namespace: str
    objects: List[Object] = field(default_factory=list)
    # ``never``, ``members`` or ``always``.
    force_conflicts: str = "never"
    prune: bool = True
    # Kinds of objects that are left as they are, instead of failing, where the cluster's admission rejects them.
    rejectable: Sequence[str] = ()
    wait: bool = False
    # Whether nodes on which a DaemonSet is not ready in the end are reported, instead of failing.
    report_nodes: bool = False
    # Seconds without progress.
    wait_timeout: float = 120.0
    present: bool = True
    check: bool = False
    diff: bool = False


@dataclass
class ApplyStep:
    """One object of the set and what happens to it. ``action`` is ``""`` where only the write itself will tell.

    ``reason`` says why it is REJECTED.
    """

    wanted: Wanted
    action: str
    reason: str = ""
    # Nobody can know the name of this object, which does not exist yet. So it is tried by making it, for half the price
    # of a dry run and a write, and taken back if another one is refused.
    unknown: bool = False
    before: Optional[Object] = None
    after: Optional[Object] = None


@dataclass(frozen=True)
class ApplysetPlan:
    """Steps in the user's order, members of the set that are no longer wanted, and those that are being deleted."""

    parent: LiveParent
    # What the parent said before this run, None if there was none.
    stated: Optional[Scope]
    steps: List[ApplyStep]
    leftovers: List[SetMember]
    ending: List[SetMember]


def apply_query(request: ApplysetRequest, step: ApplyStep, dry: bool = False) -> Dict[str, str]:
    """The query of server-side apply for an object of the set."""
    is_member = step.before is not None
    force = request.force_conflicts == "always" or (request.force_conflicts == "members" and is_member)
    query = {
        "fieldManager": FIELD_MANAGER,
        "fieldValidation": "Strict",
        "force": str(force).lower(),
    }
    return {**query, "dryRun": "All"} if dry else query


def plan(client: Client, request: ApplysetRequest, live_parent: LiveParent) -> Tuple[ApplysetPlan, Api]:
    """What has to be done; the parent was read before, since other runs write it before and after their changes.

    Raises ClusterError when something is wrong, for all objects at once, and OvertakenError.
    """
    parent = Parent(request.name, request.namespace)
    stated = live_parent.stated
    documents = client.all(lambda root: client.get(root, accept=ACCEPT), ["/api", "/apis"])
    api = Api(documents)
    objects = request.objects if request.present else []
    wanted = intake(objects, parent, api, lambda: client.get("/version"))
    members = members_of(client, api, parent, stated, wanted)
    steps = [_step(item, members, FIELD_MANAGER) for item in wanted]
    keys = {item.key for item in wanted}
    namespaces = {key.name for key in keys if key.group_kind == ("", "Namespace")}
    unwanted = [member for key, member in members.items() if key not in keys]
    ending = [member for member in unwanted if "deletionTimestamp" in metadata(member.live)]
    leftovers = [member for member in unwanted if member not in ending]
    _refuse_terminating((step.wanted.key, step.before) for step in steps)
    todo = [step for step in steps if step.action != "unchanged"]
    _refuse_foreign(client, request, api, parent, [step.wanted for step in todo if step.before is None])
    if wanted and stated is None:
        live_parent.try_to_create()
    for step in todo:
        free = step.wanted.key.namespace not in namespaces and not request.check
        step.unknown = bool(step.wanted.alias) and step.before is None and free
    _try(client, request, api, [step for step in todo if not step.unknown], namespaces)
    # Objects that are not members of the set yet were read for the first time by the dry run.
    _refuse_terminating((step.wanted.key, step.after) for step in todo)
    return ApplysetPlan(live_parent, stated, steps, leftovers, ending), api


def members_of(
    client: Client, api: Api, parent: Parent, stated: Optional[Scope], wanted: List[Wanted]
) -> Dict[ObjectKey, SetMember]:
    """All members of the set: a list call for each kind and namespace."""
    scope = parent.scope((), (item.key.namespace for item in wanted)) | (stated or parent.scope())
    resources: Dict[GroupKind, Resource] = {}
    for kind in sorted(scope.kinds):
        found = api.find(kind)
        # A kind that is gone took its objects with it.
        if found is not None:
            resources[kind] = found
    for item in wanted:
        if not item.resource.new:
            resources[item.key.group_kind] = item.resource
    query = {"labelSelector": f"{PART_OF}={parent.id}"}
    found_members: Dict[ObjectKey, SetMember] = {}
    for resource, items in _lists(client, places_of(resources.values(), scope.namespaces), query):
        for live in items:
            key = key_of(live, resource.group_kind)
            found_members[key] = SetMember(key, resource, live)
    return found_members


def places_of(resources: Iterable[Resource], namespaces: Iterable[str]) -> List[Tuple[Resource, str]]:
    return [
        (resource, namespace)
        for resource in resources
        for namespace in (sorted(namespaces) if resource.namespaced else [""])
    ]


def _lists(
    client: Client, places: List[Tuple[Resource, str]], query: Dict[str, str], accept: str = JSON
) -> List[Tuple[Resource, List[Object]]]:
    def listing(place: Tuple[Resource, str]) -> Tuple[Resource, List[Object]]:
        resource, namespace = place
        try:
            return resource, client.get(resource.path(namespace), query, accept).get("items") or []
        except ApiError as error:
            # A kind whose definition is gone, and in the set again.
            if error.status == 404:
                return resource, []
            raise

    return client.all(listing, places)


def _step(wanted: Wanted, members: Dict[ObjectKey, SetMember], manager: str) -> ApplyStep:
    member = members.get(wanted.key)
    if member is None:
        return ApplyStep(wanted, "")
    is_same = unchanged(member.live, wanted.body, manager, fixed=bool(wanted.alias))
    return ApplyStep(wanted, "unchanged" if is_same else "", before=member.live)


def _refuse_terminating(objects: Iterable[Tuple[ObjectKey, Optional[Object]]]) -> None:
    """What is being deleted will be gone whatever is applied to it. Raises ClusterError."""
    held = [str(key) for key, live in objects if "deletionTimestamp" in metadata(live or {})]
    if held:
        raise ClusterError(
            f"being deleted at the moment, so nothing was applied; run again when they are gone:\n{listed(held)}"
        )


def _refuse_foreign(client: Client, request: ApplysetRequest, api: Api, parent: Parent, new: List[Wanted]) -> None:
    """An object can be in one set only: that of another one is not taken over. Raises ClusterError.

    Nor are ResourceClaims and templates that others have applied as they are in manifests, which no dry run tells.
    """
    # A kind that is to get a new version is served in another one, in which the object may exist.
    found = {item.key.group_kind: api.find(item.key.group_kind) for item in new}
    resources = {kind: resource for kind, resource in found.items() if resource and not resource.new}
    keys = {item.key for item in new if item.key.group_kind in resources}
    places = [
        (resource, namespace)
        for resource, namespace in places_of(resources.values(), {key.namespace for key in keys} - {""})
        if any(key.group_kind == resource.group_kind and key.namespace == namespace for key in keys)
    ]
    in_sets, managed = [], []
    for label, named in ((PART_OF, False), (ALIAS, True)):
        query = {"labelSelector": f"{label},{PART_OF}!={parent.id}"}
        asked = [place for place in places if (place[0].group_kind in REFERENCES) == named]
        for resource, items in _lists(client, asked, query, METADATA_LIST):
            for item in items:
                key = key_of(item, resource.group_kind)
                if key not in keys:
                    continue
                other = metadata(item)["labels"].get(PART_OF)
                if other:
                    in_sets.append(f"{key} is in the set {other}")
                elif request.force_conflicts != "always" and foreign.refusal(resource.group_kind, item):
                    managed.append(f"{key}: {foreign.refusal(resource.group_kind, item)}: {_remedy(request)}")
    if in_sets:
        raise ClusterError(
            f"{listed(in_sets)}\nan object can be in one set only. To see the parents of the other ones: "
            f"kubectl get secrets,configmaps -A -L applyset.kubernetes.io/id"
        )
    if managed:
        raise refused(request, managed, "nothing was applied")


def _try(client: Client, request: ApplysetRequest, api: Api, todo: List[ApplyStep], namespaces: Set[str]) -> None:
    """Dry-run everything that may have to be written, and note what would happen. Raises ClusterError."""

    def there(step: ApplyStep, resource: Optional[Resource]) -> None:
        """Look whether the object is there and somebody else's. Raises ClusterError."""
        key = step.wanted.key
        if step.before is None and resource is not None and not resource.new and request.force_conflicts != "always":
            live = client.find(resource.path(key.namespace, key.name))
            why = foreign.refusal(key.group_kind, live) if live else ""
            if why:
                raise ClusterError(f"{why}: {_remedy(request)}")

    def tried(step: ApplyStep) -> Optional[Response]:
        wanted = step.wanted
        if wanted.resource.new:
            there(step, api.find(wanted.key.group_kind))
            return None
        path = wanted.resource.path(wanted.key.namespace, wanted.key.name)
        accept = METADATA if step.before is None and not request.diff else JSON
        try:
            answer = client.apply(path, wanted.body, apply_query(request, step, dry=True), accept)
        except ApiError as error:
            if _untold(error, namespaces):
                there(step, wanted.resource)
                return None
            raise
        if step.before is None and answer.status != HTTPStatus.CREATED:
            there(step, wanted.resource)
        return answer

    problems = []
    for step, answer in zip(todo, client.map(tried, todo)):
        if isinstance(answer, ApiError) and step.wanted.key.kind in request.rejectable and _DENIED.search(str(answer)):
            step.action, step.reason = REJECTED, str(answer)
        elif isinstance(answer, ClusterError):
            problems.append(explained(request, step.wanted, answer))
        elif answer is None:
            step.after = step.wanted.body
        else:
            step.after = answer.body
            if step.before is not None and same(step.before, answer.body, FIELD_MANAGER):
                step.action = "unchanged"
            else:
                step.action = "created" if answer.status == 201 else "configured"
    if problems:
        raise refused(request, problems, "nothing was applied")


def refused(request: ApplysetRequest, problems: List[str], outcome: str) -> ClusterError:
    """The error for objects that the API server does not accept."""
    return ClusterError(
        f"{len(problems)} of {counted(len(request.objects), 'object')} rejected, {outcome}:\n{listed(problems)}"
    )


def _untold(error: ApiError, namespaces: Set[str]) -> bool:
    """Whether a dry run cannot tell: a namespace of the set does not exist yet, or a webhook knows no dry run."""
    if error.status == 404 and error.details.get("kind") == "namespaces":
        return error.details.get("name") in namespaces
    return error.status == 400 and "does not support dry run" in str(error)


def explained(request: ApplysetRequest, wanted: Wanted, error: ClusterError) -> str:
    """An error of applying an object; for a conflict, whose field it is and what to do about it."""
    conflicts = error.conflicts if isinstance(error, ApiError) else []
    if not conflicts:
        return f"{wanted.key}: {error}"
    remedy = "leave the field out, or take it over with force_conflicts"
    if request.force_conflicts == "members":
        remedy = _remedy(request)
    return f"{wanted.key}: {'; '.join(conflicts)}: {remedy}"


def _remedy(request: ApplysetRequest) -> str:
    """What to do about an object of somebody else."""
    said = f"this object is not part of the set {request.namespace}/{request.name}: rename or delete it"
    return said if request.force_conflicts == "members" else f"{said}, or take it over with force_conflicts=always"
