# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Answers of the API server with objects that tenants have made as deep and as large as it takes them."""

from __future__ import annotations

import copy
import json
from typing import Any, Dict

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api import pages, request
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.answers import DEEPEST, decoded, is_cut
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client, TooLargeError
from ansible_collections.zerocopy.rdma.tests.unit._provision.api_server import Reply, Server, nested


def _depth(value: Any) -> int:
    levels, found = 0, [value]
    while found:
        levels += 1
        found = [
            inner
            for each in found
            for inner in (each.values() if isinstance(each, dict) else each)
            if isinstance(inner, (dict, list))
        ]
    return levels


@pytest.mark.parametrize("levels", [DEEPEST + 2, 900, 9900])
def test_what_is_nested_too_deeply_is_left_out_and_the_others_stay(levels: int) -> None:
    plain = {"metadata": {"name": "plain"}, "spec": {"text": '[{"\\"}\\\\', "list": [[], {}, 1]}}
    one = b'{"metadata": {"name": "deep", "labels": {"a": "[{"}}, "spec": %s, "status": {"at": 1}}' % nested(levels)
    text = json.dumps(plain).encode()
    value = decoded(b'{"items": [%s, %s, %s]}' % (text, one, text))
    first, deep, last = value["items"]
    assert first == last == plain
    assert [is_cut(each) for each in (value, first, deep, last)] == [False, False, True, False]
    assert (deep["metadata"], deep["status"]) == ({"name": "deep", "labels": {"a": "[{"}}, {"at": 1})
    assert _depth(value) == DEEPEST + 1
    # What others do with it.
    assert json.loads(json.dumps(copy.deepcopy(value))) == value
    alone = decoded(one)
    assert is_cut(alone)
    assert alone["metadata"]["name"] == "deep"


@pytest.mark.parametrize("levels", [10, DEEPEST - 4])
def test_what_is_not_too_deep_stays(levels: int) -> None:
    text = b'{"items": [{"spec": %s}]}' % nested(levels)
    value = decoded(text)
    assert value == json.loads(text)
    assert not is_cut(value["items"][0])


@pytest.mark.parametrize("text", [b"[" * 20000, b'{"a":' * 20000, nested(20000)[:-7], b"]" * 9, b"{", b'"\\'])
def test_what_is_no_json_stays_none(text: bytes) -> None:
    with pytest.raises(json.JSONDecodeError):
        decoded(text)


def test_a_deep_object_ends_no_watch(server: Server, client: Client) -> None:
    events = b"".join(b'{"type": "ADDED", "object": {"n": %d, "s": %s}}\n' % (n, nested(9000)) for n in (1, 2))
    server.replies = [(200, {}, events)]
    assert [event["object"]["n"] for event in client.watch("/x", {}, 1)] == [1, 2]


class Large:
    """A list of large objects."""

    def __init__(self, objects: int, size: int) -> None:
        self.objects, self.size = objects, size

    def __call__(self, _method: str, path: str, _body: bytes) -> Reply:
        query = dict(part.split("=") for part in path.partition("?")[2].split("&"))
        first = int(query.get("continue", 0))
        until = min(self.objects, first + int(query["limit"]))
        meta: Dict[str, Any] = {"continue": str(until)} if until < self.objects else {}
        return 200, {}, {"metadata": meta, "items": [{"n": n, "x": "x" * self.size} for n in range(first, until)]}


def test_objects_that_are_large_together_are_read_in_smaller_pages(
    server: Server, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request, "LARGEST_PAGE", 1 << 20)
    server.decide = Large(40, 1 << 15)
    assert pages.read(client, "/x", None, lambda item: [item["n"]]) == list(range(40))
    assert [path for _method, path, *_rest in server.seen][:2] == ["/x?limit=500", "/x?limit=25"]


def test_a_list_that_comes_in_parts_unasked_is_read_to_its_end(server: Server, client: Client) -> None:
    """As an API server of an aggregated group may answer."""
    large = Large(12, 1)

    def parts(method: str, path: str, body: bytes) -> Reply:
        return large(method, f"{path}&limit=5", body)

    server.decide = parts
    assert [item["n"] for item in client.get("/x", {"labelSelector": "a"})["items"]] == list(range(12))
    assert [item["n"] for item in client.items_if_allowed("/x", {"labelSelector": "a"}) or []] == list(range(12))
    assert [path for _method, path, *_rest in server.seen][:3] == [
        "/x?labelSelector=a",
        "/x?labelSelector=a&continue=5",
        "/x?labelSelector=a&continue=10",
    ]
    # Who asks for a page gets that.
    assert len(client.get("/x", {"limit": 5})["items"]) == 5


def test_one_that_is_larger_than_any_object_is_an_error(
    server: Server, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request, "LARGEST_PAGE", 1 << 20)
    server.decide = Large(1, 1 << 20)
    with pytest.raises(TooLargeError, match="the answer is larger than 1 MiB"):
        pages.read(client, "/x", None, lambda item: [item])


def test_pages_that_have_expired_go_on_as_they_are_now(server: Server, client: Client) -> None:
    """Whoever fills a list so that reading it takes too long does not have it read in one answer."""
    large = Large(1200, 1)

    def expiring(method: str, path: str, body: bytes) -> Reply:
        if path.endswith("continue=500"):
            told = {"kind": "Status", "reason": "Expired", "metadata": {"continue": "0500"}}
            return 410, {}, {**told, "message": "The provided continue parameter is too old"}
        return large(method, path, body)

    server.decide = expiring
    assert pages.read(client, "/x", None, lambda item: [item["n"]]) == list(range(1200))
    assert [path.partition("?")[2] for _method, path, *_rest in server.seen] == [
        "limit=500",
        "limit=500&continue=500",
        "limit=500&continue=0500",
        "limit=500&continue=1000",
    ]
