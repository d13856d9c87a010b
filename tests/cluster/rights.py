# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The roles that docs/rights.md recommends, users who have them, and what the API server was asked by a user."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import yaml

from ansible_collections.zerocopy.rdma.tests.cluster.cluster_set import ClusterSet, Object
from ansible_collections.zerocopy.rdma.tests.cluster.provision import CHECKOUT

_RBAC = "rbac.authorization.k8s.io"
# Nothing is asked with these: who applies a role needs them, unless they have all rights of it.
_SILENT = ("escalate", "bind")


class Atom(NamedTuple):
    """One verb of a rule for one resource, and for one name where the rule has names."""

    verb: str
    group: str
    resource: str
    namespace: str
    name: str = ""

    @property
    def silent(self) -> bool:
        return self.verb in _SILENT

    def allows(self, asked: Atom) -> bool:
        """Whether a request is allowed by it."""
        pairs = zip(self, asked)
        return all(own in (other, "*") or (number > 2 and not own) for number, (own, other) in enumerate(pairs))


def documented(namespace: str, *names: str) -> list[Object]:
    """The roles of these names, those of the namespace ``default`` for another one."""
    blocks = re.findall("```yaml\n(.*?)```", (CHECKOUT / "docs" / "rights.md").read_text("utf-8"), re.S)
    found = [item for block in blocks for item in yaml.safe_load_all(block) if item["metadata"]["name"] in names]
    assert {item["metadata"]["name"] for item in found} == set(names)
    for item in found:
        if item["metadata"].get("namespace") == "default":
            item["metadata"]["namespace"] = namespace
    return found


def atoms(role: Object) -> list[Atom]:
    place = role["metadata"].get("namespace", "")
    return [
        Atom(verb, group, resource, place, name)
        for rule in role["rules"]
        for verb in rule["verbs"]
        for group in rule.get("apiGroups", [])
        for resource in rule.get("resources", [])
        for name in rule.get("resourceNames") or [""]
    ]


def without(role: Object, number: int) -> Object:
    """A role that lacks one of its rules."""
    return {**role, "rules": [rule for place, rule in enumerate(role["rules"]) if place != number]}


def only(role: Object, *verbs: str) -> Object:
    """A role with only these of its verbs."""
    rules = [{**rule, "verbs": [verb for verb in rule["verbs"] if verb in verbs]} for rule in role["rules"]]
    return {**role, "rules": [rule for rule in rules if rule["verbs"]]}


@contextlib.contextmanager
def users(cluster_set: ClusterSet, roles: Mapping[str, Sequence[Object]]) -> Iterator[None]:
    """Users who have these roles, and no others."""
    items: list[Object] = []
    for user, own in roles.items():
        subject = {"kind": "User", "name": user, "apiGroup": _RBAC}
        for number, role in enumerate(own):
            meta = {**role["metadata"], "name": f"{user}-{number}"}
            reference = {"apiGroup": _RBAC, "kind": role["kind"], "name": meta["name"]}
            bound: Object = {"apiVersion": f"{_RBAC}/v1", "kind": f"{role['kind']}Binding", "metadata": meta}
            items += [{**role, "metadata": meta}, {**bound, "roleRef": reference, "subjects": [subject]}]
    listed = {"apiVersion": "v1", "kind": "List", "items": items}
    cluster_set.kubectl("create", "--validate=false", "-f", "-", stdin=listed)
    try:
        for user, own in roles.items():
            for role in own:
                _await(cluster_set, user, role)
        yield
    finally:
        cluster_set.kubectl("delete", "-f", "-", stdin=listed)


def _await(cluster_set: ClusterSet, user: str, role: Object) -> None:
    """The authorizer hears of roles and bindings by watches."""
    deadline = time.monotonic() + 30
    for atom in [atom for atom in atoms(role) if "*" not in atom][:1]:
        about = dict(zip(("verb", "group", "resource", "namespace", "name"), atom))
        about["resource"], _slash, about["subresource"] = atom.resource.partition("/")
        kind = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview"}
        review = {**kind, "spec": {"resourceAttributes": about}}
        asked = ("create", "--validate=false", "-f", "-", f"--as={user}", "--output=jsonpath={.status.allowed}")
        while cluster_set.kubectl(*asked, stdin=review) != "true":
            assert time.monotonic() < deadline, (user, atom)
            time.sleep(0.2)


def idle(roles: Sequence[Object], asked: set[Atom]) -> list[Atom]:
    """What roles allow and nobody has asked for.

    What is awaited is read, and watched only if it is not ready yet.
    """
    read = {atom._replace(verb="watch") for atom in asked if atom.verb in ("get", "list")}
    every = [atom for role in roles for atom in atoms(role)]
    return [atom for atom in every if not atom.silent and not any(atom.allows(each) for each in {*asked, *read})]


@contextlib.contextmanager
def asked_by(cluster_set: ClusterSet, user: str) -> Iterator[set[Atom]]:
    """What a user asks the API server for meanwhile and is allowed, from its audit log."""
    found: set[Atom] = set()
    with cluster_set.logged() as events:
        yield found
    for event in events:
        about: Mapping[str, Any] = event.get("objectRef") or {}
        allowed = event.get("responseStatus", {}).get("code") != 403
        if event.get("impersonatedUser", {}).get("username") == user and about.get("resource") and allowed:
            sub = f"/{about['subresource']}" if "subresource" in about else ""
            name, group = about.get("name", ""), about.get("apiGroup", "")
            # Server-side apply of what is not there has to be allowed as both.
            verbs = {event["verb"], "create"} if event["responseStatus"]["code"] == 201 else {event["verb"]}
            found |= {Atom(v, group, about["resource"] + sub, about.get("namespace", ""), name) for v in verbs}
