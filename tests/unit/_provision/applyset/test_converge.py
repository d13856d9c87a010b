# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""A set of objects from the first run to the last, and what other runs and refusals make of it."""

from __future__ import annotations

from typing import Any, Dict, List

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api import request
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset import converge as applyset
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset import live_parent
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.parent import PART_OF, Parent
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.plan import ApplysetRequest
from ansible_collections.zerocopy.rdma.tests.unit._provision.api_server import Clock, Reply, Server, status
from ansible_collections.zerocopy.rdma.tests.unit._provision.object_store import Store

MAPS, PARENT = "/api/v1/namespaces/dra/configmaps", "/api/v1/namespaces/dra/secrets/set"
MARK = "zerocopy.rdma/run"


@pytest.fixture
def store(server: Server) -> Store:
    server.decide = made = Store()
    return made


def config_map(name: str, **data: str) -> Dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "dra"}, "data": data}


def run(client: Client, *objects: Dict[str, Any], **options: Any) -> Dict[str, Any]:
    return applyset.converge(client, ApplysetRequest("set", "dra", list(objects), **options))


def actions(result: Dict[str, Any]) -> Dict[str, str]:
    return {told["name"]: told["action"] for told in result["objects"]}


def parents_annotations(store: Store) -> Dict[str, str]:
    found: Dict[str, str] = store.objects[PARENT]["metadata"]["annotations"]
    return found


def test_a_set_is_made_changed_pruned_and_removed(client: Client, store: Store) -> None:
    predicted = run(client, config_map("a", x="1"), config_map("b"), check=True, diff=True)
    assert (store.objects, store.seen) == ({}, [])
    made = run(client, config_map("a", x="1"), config_map("b"), diff=True)
    assert actions(made) == actions(predicted) == {"a": "created", "b": "created", "set": "created"}
    assert [entry["after_header"] for entry in made["diff"]] == ["ConfigMap dra/a", "ConfigMap dra/b"]
    # The parent first, and closed at the end.
    assert (store.seen[0], store.seen[-1]) == ("POST secrets", "PATCH set")
    assert parents_annotations(store)["applyset.kubernetes.io/contains-group-kinds"] == "ConfigMap"
    assert MARK not in parents_annotations(store)
    assert store.objects[f"{MAPS}/a"]["metadata"]["labels"] == {PART_OF: Parent("set", "dra").id}
    writes = len(store.seen)
    again = run(client, config_map("a", x="1"), config_map("b"))
    assert (again["changed"], len(store.seen)) == (False, writes)
    kept = run(client, config_map("a", x="2"), prune=False)
    assert actions(kept) == {"a": "configured", "b": "kept", "set": "unchanged"}
    assert actions(run(client, config_map("a", x="2"))) == {"a": "unchanged", "b": "pruned", "set": "unchanged"}
    assert sorted(store.objects) == [f"{MAPS}/a", PARENT]
    gone = run(client, present=False, check=True)
    assert sorted(store.objects) == [f"{MAPS}/a", PARENT]
    assert actions(run(client, present=False)) == actions(gone) == {"a": "pruned", "set": "pruned"}
    assert store.objects == {}
    assert run(client, present=False)["changed"] is False


def test_nothing_is_written_where_one_object_is_refused(client: Client, store: Store) -> None:
    cause = {"reason": "FieldManagerConflict", "field": ".data.x", "message": 'conflict with "kubectl" using v1'}
    store.refuse = {f"{MAPS}/a": status(409, "conflict", causes=[cause]), f"{MAPS}/b": status(422, "data is wrong")}
    with pytest.raises(ClusterError) as refused:
        run(client, config_map("a"), config_map("b"), config_map("c"))
    said = str(refused.value)
    assert said.startswith("2 of 3 objects rejected, nothing was applied:\n")
    assert "a: .data.x belongs to kubectl: leave the field out, or take it over with force_conflicts" in said
    assert "data is wrong" in said
    assert (store.objects, store.seen) == ({}, [])
    with pytest.raises(ClusterError, match=r"a: .data.x belongs to kubectl: this object is not part of the set"):
        run(client, config_map("a"), force_conflicts="members")


def test_an_object_of_another_set_is_not_taken(client: Client, store: Store) -> None:
    applyset.converge(client, ApplysetRequest("theirs", "dra", [config_map("a")]))
    with pytest.raises(ClusterError, match=r"ConfigMap dra/a is in the set applyset-"):
        run(client, config_map("a"))
    assert PARENT not in store.objects


def test_what_is_being_deleted_is_not_applied(client: Client, store: Store) -> None:
    run(client, config_map("a"))
    store.objects[f"{MAPS}/a"]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    with pytest.raises(ClusterError, match=r"being deleted at the moment, so nothing was applied.*\n.*ConfigMap dra/a"):
        run(client, config_map("a", x="1"))


def test_what_changed_at_this_very_moment_stays(client: Client, store: Store) -> None:
    run(client, config_map("a"), config_map("b"))
    store.refuse = {f"{MAPS}/b": status(409)}
    kept = run(client, config_map("a"))
    assert actions(kept)["b"] == "kept"
    assert [told["reason"] for told in kept["objects"] if "reason" in told] == ["changed at the same moment"]
    store.refuse = {f"{MAPS}/b": status(403, "may not")}
    with pytest.raises(ClusterError, match="ConfigMap dra/b could not be pruned"):
        run(client, config_map("a"))
    # Whatever happened, the parent names what there is and is not left open.
    assert MARK not in parents_annotations(store)


def test_a_run_that_is_under_way_is_waited_for(monkeypatch: pytest.MonkeyPatch, client: Client, store: Store) -> None:
    clock = Clock()
    monkeypatch.setattr(live_parent, "time", clock)
    run(client, config_map("a"))
    parents_annotations(store)[MARK] = "another"
    # A killed run leaves its mark for ever, so after some time it no longer counts.
    assert actions(run(client, config_map("a", x="1"))) == {"a": "configured", "set": "unchanged"}
    assert clock.now >= live_parent._BUSY_SECONDS
    parents_annotations(store)[MARK] = "another"
    before, sleep = clock.now, clock.sleep

    def end(seconds: float) -> None:
        sleep(seconds)
        parents_annotations(store).pop(MARK, None)

    monkeypatch.setattr(clock, "sleep", end)
    run(client, config_map("a", x="2"))
    assert clock.now - before < live_parent._BUSY_SECONDS


def test_a_parent_that_others_keep_changing_is_given_up(
    monkeypatch: pytest.MonkeyPatch, client: Client, store: Store
) -> None:
    monkeypatch.setattr(live_parent, "time", Clock())
    run(client, config_map("a"))
    store.refuse = {PARENT: status(409)}
    writes: List[str] = list(store.seen)
    with pytest.raises(ClusterError, match="other runs of this set kept changing it, nothing was changed by this one"):
        run(client, config_map("a", x="1"))
    assert store.seen == writes


@pytest.mark.parametrize("lost", ["create", "open", "close"])
def test_a_lost_answer_is_no_other_run(
    monkeypatch: pytest.MonkeyPatch, client: Client, store: Store, server: Server, lost: str
) -> None:
    clock = Clock()
    monkeypatch.setattr(live_parent, "time", clock)
    if lost == "open":
        run(client, config_map("a"))
    writes = 0

    def drop(method: str, target: str, body: bytes) -> Reply:
        nonlocal writes
        reply = store(method, target, body)
        if method in ("POST", "PATCH") and "/secrets" in target and "dryRun" not in target:
            writes += 1
            if writes == (2 if lost == "close" else 1):
                return None
        return reply

    server.decide = drop
    done = run(client, config_map("a", x="1"))
    assert actions(done)["a"] == ("configured" if lost == "open" else "created")
    assert MARK not in parents_annotations(store)
    # No other run was waited for.
    assert clock.now == 0
    server.decide = store
    assert run(client, config_map("a", x="1"))["changed"] is False


def test_a_lost_answer_does_not_hide_another_run(
    monkeypatch: pytest.MonkeyPatch, client: Client, store: Store, server: Server
) -> None:
    clock = Clock()
    monkeypatch.setattr(live_parent, "time", clock)
    run(client, config_map("a"))
    stolen = False

    def drop(method: str, target: str, body: bytes) -> Reply:
        nonlocal stolen
        reply = store(method, target, body)
        if method == "PATCH" and "/secrets" in target and MARK in parents_annotations(store) and not stolen:
            stolen = True
            parents_annotations(store)[MARK] = "another"
            return None
        return reply

    server.decide = drop
    run(client, config_map("a", x="1"))
    assert stolen
    assert clock.now >= live_parent._BUSY_SECONDS


def test_a_missing_namespace_of_the_parent_is_named(client: Client, store: Store) -> None:
    store.refuse = {"/api/v1/namespaces/dra/secrets": status(404, 'namespaces "dra" not found')}
    with pytest.raises(ClusterError, match="the namespace dra for the parent of the set does not exist"):
        run(client, config_map("a"))


def test_what_only_the_write_refuses_is_told_and_the_parent_names_the_rest(client: Client, store: Store) -> None:
    store.fail = {f"{MAPS}/b": status(500, "etcd is full")}
    with pytest.raises(ClusterError, match="1 object could not be applied although a dry run was accepted"):
        run(client, config_map("a"), config_map("b"))
    assert sorted(store.objects) == [f"{MAPS}/a", PARENT]
    assert parents_annotations(store)["applyset.kubernetes.io/contains-group-kinds"] == "ConfigMap"
    assert MARK not in parents_annotations(store)
    store.fail = {}
    assert actions(run(client, config_map("a"), config_map("b"))) == {
        "a": "unchanged",
        "b": "created",
        "set": "unchanged",
    }


@pytest.mark.parametrize("tried", [True, False], ids=["after a dry run", "without a dry run"])
def test_an_object_whose_answer_was_lost_may_be_applied(
    monkeypatch: pytest.MonkeyPatch, client: Client, store: Store, server: Server, tried: bool
) -> None:
    """The API server ends with the first write of a member, and does not come back in time."""
    monkeypatch.setattr(request, "time", Clock())
    ended = False

    def end(method: str, target: str, body: bytes) -> Reply:
        nonlocal ended
        of_member = method == "PATCH" and target.startswith(f"{MAPS}/a")
        if of_member and "dryRun" in target and not tried:
            return status(400, "the webhook example.org does not support dry run")
        reply = None if ended else store(method, target, body)
        ended = ended or (of_member and "dryRun" not in target)
        return None if ended else reply

    server.decide = end
    with pytest.raises(ClusterError, match=r"^1 object may or may not be applied; the next run continues from here:\n"):
        run(client, config_map("a"))
    assert sorted(store.objects) == [f"{MAPS}/a", PARENT]
    server.decide = store
    monkeypatch.setattr(live_parent, "_BUSY_SECONDS", 0.0)
    assert run(client, config_map("a"))["changed"] is False
    assert actions(run(client, present=False)) == {"a": "pruned", "set": "pruned"}
