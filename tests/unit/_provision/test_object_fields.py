# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Fields of an object that its controller and others write at the same moment; the rest is in tests/cluster."""

from __future__ import annotations

import json
from typing import Any, Dict, List, Optional, Tuple

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.object_fields import FieldsRequest, converge
from ansible_collections.zerocopy.rdma.tests.unit._provision.api_server import Reply, Server, status

WANTED = {"apiVersion": "example.com/v1", "kind": "Policy", "metadata": {"name": "one"}}
PATH = "/apis/example.com/v1/policies/one"
RESOURCE = {"resource": "policies", "responseKind": {"kind": "Policy"}, "scope": "Cluster", "verbs": ["get"]}
GROUP = {"metadata": {"name": "example.com"}, "versions": [{"version": "v1", "resources": [RESOURCE]}]}


def live(version: int, *managers: str) -> Dict[str, Any]:
    entries = [{"manager": name, "operation": "Apply", "fieldsV1": {"f:spec": {}}} for name in managers]
    meta = {"name": "one", "uid": "0", "resourceVersion": str(version), "managedFields": entries}
    return {**WANTED, "metadata": meta, "spec": {}}


def released(server: Server, client: Client, conflicts: int, *managers: str) -> Tuple[Dict[str, Any], List[str]]:
    """The result, and the versions that were written on; so many writes meet another one."""
    versions: List[str] = []
    served: Dict[str, List[Any]] = {"/api": [], "/apis": [GROUP]}
    server.paths = {
        path: (200, {}, {"kind": "APIGroupDiscoveryList", "items": groups}) for path, groups in served.items()
    }

    def decide(method: str, path: str, body: bytes) -> Reply:
        assert path.partition("?")[0] == PATH
        if method == "GET":
            return 200, {}, live(len(versions), *managers)
        sent = json.loads(body)
        versions.append((sent.get("preconditions") or sent["metadata"])["resourceVersion"])
        if len(versions) <= conflicts:
            return status(409, "the object has been modified", "Conflict")
        return 200, {}, live(len(versions), *managers[1:])

    server.decide = decide
    return converge(client, FieldsRequest(WANTED, "ours", present=False)), versions


def test_an_object_that_changes_meanwhile_is_looked_at_again(server: Server, client: Client) -> None:
    result, versions = released(server, client, 2, "ours")
    assert [one["action"] for one in result["objects"]] == ["pruned"]
    assert versions == ["0", "1", "2"]


def test_what_others_have_is_not_made_anew(server: Server, client: Client) -> None:
    """Without the version, an object that was deleted meanwhile would be made by taking fields back."""
    result, versions = released(server, client, 1, "ours", "theirs")
    assert [one["action"] for one in result["objects"]] == ["configured"]
    # Refused, tried, written.
    assert versions == ["0", "1", "1"]


def test_it_ends_where_others_never_do(server: Server, client: Client) -> None:
    with pytest.raises(ClusterError, match="others kept changing it, so it was not changed: run again"):
        released(server, client, 1000, "ours")


def test_nothing_is_written_for_nobody(server: Server, client: Client) -> None:
    result, versions = released(server, client, 0, "theirs")
    assert (result["changed"], versions) == (False, [])


FIELDS = {**WANTED, "spec": {"ours": 1}}


def entry(manager: str, *fields: str, **more: Any) -> Dict[str, Any]:
    own: Dict[str, Any] = {"f:spec": {f"f:{name}": {} for name in fields}}
    return {"manager": manager, "operation": "Apply", "fieldsV1": own, **more}


def having(*entries: Dict[str, Any], **spec: Any) -> Dict[str, Any]:
    meta = {"name": "one", "uid": "0", "resourceVersion": "1", "generation": 1, "managedFields": list(entries)}
    return {**WANTED, "metadata": meta, "spec": spec}


def asked(
    server: Server, client: Client, before: Optional[Dict[str, Any]], after: Any, wanted: FieldsRequest
) -> Tuple[Any, List[str]]:
    """The result, and the writes, those that are tried only in brackets. ``after`` answers them."""
    writes: List[str] = []
    documents = {"/api": [], "/apis": [GROUP]}
    server.paths = {
        path: (200, {}, {"kind": "APIGroupDiscoveryList", "items": items}) for path, items in documents.items()
    }

    def decide(method: str, path: str, body: bytes) -> Reply:
        if method == "GET":
            return (200, {}, before) if before else status(404)
        dry = "dryRun" in path or b'"dryRun"' in body
        writes.append(f"({method})" if dry else method)
        if method == "PATCH":
            assert "fieldManager=ours&fieldValidation=Strict&force=false" in path
        return after if isinstance(after, tuple) else (200, {}, after or {})

    server.decide = decide
    return converge(client, wanted), writes


OURS, THEIRS = entry("ours", "ours"), entry("theirs", "theirs")


@pytest.mark.parametrize(
    ("before", "after", "options", "action", "writes"),
    [
        (None, having(OURS, ours=1), {}, "created", ["(PATCH)", "PATCH"]),
        (None, having(OURS, ours=1), {"check": True}, "created", ["(PATCH)"]),
        (having(THEIRS, theirs=2), having(THEIRS, OURS, theirs=2, ours=1), {}, "configured", ["(PATCH)", "PATCH"]),
        (having(THEIRS, theirs=2), having(THEIRS, OURS, theirs=2, ours=1), {"check": True}, "configured", ["(PATCH)"]),
        (having(OURS, ours=1), having(OURS, ours=1), {}, "unchanged", ["(PATCH)"]),
        # The same value, that was somebody else's alone.
        (having(THEIRS, ours=1), having(THEIRS, OURS, ours=1), {}, "configured", ["(PATCH)", "PATCH"]),
    ],
)
def test_fields_are_given(
    server: Server, client: Client, before: Any, after: Any, options: Any, action: str, writes: List[str]
) -> None:
    result, done = asked(server, client, before, after, FieldsRequest(FIELDS, "ours", **options))
    assert (result["objects"][0]["action"], done) == (action, writes)
    assert result["changed"] is (action != "unchanged")
    assert "diff" not in result


@pytest.mark.parametrize(
    ("before", "after", "options", "action", "writes"),
    [
        (None, None, {}, "unchanged", []),
        (having(THEIRS, theirs=2), None, {}, "unchanged", []),
        (having(OURS, ours=1), None, {}, "pruned", ["DELETE"]),
        (having(OURS, ours=1), None, {"check": True}, "pruned", ["(DELETE)"]),
        # A controller's status goes with its object.
        (having(OURS, entry("controller", subresource="status"), ours=1), None, {}, "pruned", ["DELETE"]),
        (having(OURS, THEIRS, ours=1), having(THEIRS), {}, "configured", ["(PATCH)", "PATCH"]),
        (having(OURS, THEIRS, ours=1), having(THEIRS), {"check": True}, "configured", ["(PATCH)"]),
    ],
)
def test_fields_are_taken_back(
    server: Server, client: Client, before: Any, after: Any, options: Any, action: str, writes: List[str]
) -> None:
    result, done = asked(server, client, before, after, FieldsRequest(WANTED, "ours", present=False, **options))
    assert (result["objects"][0]["action"], done) == (action, writes)


def test_the_difference_is_shown_when_asked_for(server: Server, client: Client) -> None:
    request = FieldsRequest(FIELDS, "ours", diff=True)
    result, _done = asked(server, client, None, having(OURS, ours=1), request)
    (diff,) = result["diff"]
    assert diff["after"]["spec"] == {"ours": 1}
    assert "spec" not in diff["before"]
    same = having(OURS, ours=1)
    assert asked(server, client, same, same, request)[0]["diff"] == []
    told = {"api_version": "example.com/v1", "kind": "Policy", "namespace": "", "name": "one", "action": "created"}
    assert result["objects"] == [told]


@pytest.mark.parametrize(
    ("entries", "whose"),
    [([THEIRS], "theirs"), ([THEIRS, entry("a", "theirs"), OURS], "a and theirs"), ([], "somebody else")],
)
def test_fields_that_nobody_else_may_have(server: Server, client: Client, entries: Any, whose: str) -> None:
    request = FieldsRequest(FIELDS, "ours", without=["spec.theirs", "spec.none"])
    with pytest.raises(ClusterError) as error:
        asked(server, client, having(*entries, theirs=2), having(*entries, theirs=2), request)
    said = f"Policy one: spec.theirs belongs to {whose}; the object was not changed: remove it there first"
    assert str(error.value) == said
    # Nor may they when ours are taken back.
    taken_back = FieldsRequest(WANTED, "ours", present=False, without=["spec.theirs"])
    with pytest.raises(ClusterError, match="belongs to"):
        asked(server, client, having(THEIRS, theirs=2), None, taken_back)


def test_a_field_of_somebody_else_is_named(server: Server, client: Client) -> None:
    cause = {"reason": "FieldManagerConflict", "field": ".spec.ours", "message": 'conflict with "theirs" using v1'}
    conflict = status(409, "Apply failed", "Conflict", causes=[cause])
    with pytest.raises(ClusterError) as error:
        asked(server, client, having(THEIRS, ours=2), conflict, FieldsRequest(FIELDS, "ours"))
    assert str(error.value) == (
        "Policy one: .spec.ours belongs to theirs; it was not changed: remove these fields there, or do without them"
        " here"
    )


def test_what_the_api_server_says_is_passed_on(server: Server, client: Client) -> None:
    with pytest.raises(ClusterError, match=r"^Policy one: spec\.ours: unknown field$"):
        asked(server, client, None, status(400, "spec.ours: unknown field"), FieldsRequest(FIELDS, "ours"))


def test_a_kind_that_is_not_served_has_nothing_to_take_back(server: Server, client: Client) -> None:
    other = {**WANTED, "kind": "Other"}
    result, done = asked(server, client, None, None, FieldsRequest(other, "ours", present=False))
    assert (result["objects"][0]["action"], done) == ("unchanged", [])
    with pytest.raises(ClusterError, match=r"has no kind Other in example\.com/v1"):
        asked(server, client, None, None, FieldsRequest(other, "ours"))
