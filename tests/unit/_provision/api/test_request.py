# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The client against an HTTP server that has a bad day. Real sockets; the API server itself is in tests/cluster."""

from __future__ import annotations

import json
import socket
import ssl
import threading
import time
from typing import Any, Callable, Dict

import pytest
import urllib3

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api import request
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ApiError, ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import (
    THREADS,
    Client,
    again_on_conflict,
)
from ansible_collections.zerocopy.rdma.tests.unit._provision.api_server import (
    OK,
    Clock,
    Reply,
    Server,
    status,
)

PASSING: Dict[str, Reply] = {
    "the queue is full": (429, {"Retry-After": "0"}, {}),
    "the load balancer has nobody": (503, {}, b"<html>"),
    "an etcd election": status(500, "rpc error: code = Unavailable desc = etcdserver: leader changed"),
    "a webhook's pod restarts": status(500, 'Internal error occurred: failed calling webhook "a": connection refused'),
    "two writers at once": status(409, "the object has been modified", "Conflict"),
    "the connection is reset": None,
    "the answer is cut off": (200, {}, b'{"kind": "PodList", "items": [{"meta'),
    "another server answers": (200, {}, b"<html>\n<p>Sign in</p>\n</html>"),
    "the answer is a list": (200, {}, []),
}


@pytest.mark.parametrize("reply", PASSING.values(), ids=PASSING.keys())
def test_what_passes_is_tried_again(server: Server, client: Client, reply: Reply) -> None:
    client.get("/reached")
    server.replies = [reply, reply, (201, {}, {"created": True})]
    assert client.apply("/x", {"a": 1}, {"force": "false"}) == (201, {"created": True})
    requests = server.seen[1:]
    assert len(requests) == 3
    for method, path, headers, body in requests:
        assert (method, path, json.loads(body)) == ("PATCH", "/x?force=false", {"a": 1})
        assert (headers["X-Auth"], headers["Content-Type"]) == ("a", "application/apply-patch+yaml")


CONFLICT = {"reason": "FieldManagerConflict", "message": 'conflict with "other"', "field": ".spec"}
LASTING: Dict[str, Reply] = {
    "bad request": status(400),
    "forbidden": status(403),
    "absent": status(404),
    "invalid": status(422),
    "somebody else's field": status(409, "Apply failed", "Conflict", causes=[CONFLICT]),
    "a fault of the server": status(500, "panic"),
    "another address": (302, {"Location": "https://sso.example.org/"}, {"message": "Found"}),
}


@pytest.mark.parametrize("reply", LASTING.values(), ids=LASTING.keys())
def test_what_does_not_pass_is_an_error_at_once(server: Server, client: Client, reply: Any) -> None:
    server.replies = [reply]
    with pytest.raises(ApiError) as caught:
        client.apply("/x", {}, {})
    assert (caught.value.status, str(caught.value)) == (reply[0], reply[2]["message"])
    assert len(server.seen) == 1


def test_a_write_on_a_condition_that_does_not_hold_is_an_error_at_once(server: Server, client: Client) -> None:
    server.replies = [status(409, "the object has been modified", "Conflict"), status(409, "exists", "AlreadyExists")]
    with pytest.raises(ApiError, match="modified"):
        client.merge("/x", {"metadata": {"resourceVersion": "1"}}, {})
    with pytest.raises(ApiError, match="exists"):
        client.create("/", {"metadata": {"name": "x"}}, {})
    assert [seen[0] for seen in server.seen] == ["PATCH", "POST"]


def test_the_server_says_how_long_to_wait(server: Server, client: Client) -> None:
    server.replies = [(429, {"Retry-After": "1"}, {})]
    began = time.monotonic()
    assert client.get("/x") == {"fine": True}
    assert time.monotonic() - began >= 1


def test_patience_ends(server: Server, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(request, "time", clock)
    server.replies = [status(503, "still down")] * 100
    with pytest.raises(ClusterError, match=rf"^still down \(tried for {request.PATIENCE:.0f} s: GET /x\)$"):
        client.get("/x")
    assert 1 < len(server.seen) < 50
    assert request.PATIENCE / 2 < clock.now <= request.PATIENCE


def test_a_server_that_asks_for_no_pause_gets_one(
    server: Server, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(request, "time", clock)
    server.replies = [(429, {"Retry-After": "0"}, {})] * 3
    assert client.get("/x") == {"fine": True}
    assert clock.now == pytest.approx(0.7)


def test_the_first_request_is_as_patient_as_the_others(server: Server, client: Client) -> None:
    server.replies = [None, (200, {}, b"<html>starting</html>"), status(503)]
    assert client.get("/x") == {"fine": True}
    assert len(server.seen) == 4


def test_a_wrong_address_is_an_error_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(request, "time", clock)
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{closed.getsockname()[1]}"
        nobody = Client(urllib3.PoolManager(), address, urllib3.HTTPHeaderDict, "user lab")
        said = f"^no connection to the cluster with user lab: {address}: .*refused .tried for 60 s: GET /x"
        with pytest.raises(ClusterError, match=said):
            nobody.get("/x")
    assert request.PATIENCE / 2 < clock.now <= request.PATIENCE


def test_a_wrong_certificate_is_an_error_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(request, "time", clock)

    class Pool:
        def request(self, *_arguments: Any, **_options: Any) -> Any:
            raise urllib3.exceptions.SSLError(ssl.SSLCertVerificationError(1, "unable to get local issuer certificate"))

    untrusted = Client(Pool(), "https://lab", urllib3.HTTPHeaderDict, "user lab")
    with pytest.raises(ClusterError, match=r"^no connection to the cluster with user lab: https://lab: .*local issuer"):
        untrusted.get("/x")
    assert clock.now == 0


def test_absent_is_none_to_find_and_done_to_delete(server: Server, client: Client) -> None:
    server.replies = [status(404), status(404), status(409, "uid does not match", "Conflict")]
    assert client.find("/x") is None
    client.delete("/x", {"preconditions": {"uid": "u"}})
    with pytest.raises(ApiError, match="uid"):
        client.delete("/x", {"preconditions": {"uid": "u"}})
    assert [seen[0] for seen in server.seen] == ["GET", "DELETE", "DELETE"]


def test_a_list_without_items_is_empty(server: Server, client: Client) -> None:
    server.replies = [(200, {}, {"kind": "PartialObjectMetadataList", "items": None}), (200, {}, {"kind": "Node"})]
    assert [client.get("/x").get("items") for _time in range(2)] == [[], None]


def test_a_list_that_this_user_may_not_read_is_none(server: Server, client: Client) -> None:
    server.replies = [(200, {}, {"items": [{"n": 1}]}), (200, {}, {"items": None}), status(403), status(404)]
    assert [client.items_if_allowed("/x") for _time in range(3)] == [[{"n": 1}], [], None]
    with pytest.raises(ApiError):
        client.items_if_allowed("/x")


def test_conflicts_without_end_are_given_up(server: Server, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(request, "time", clock)
    server.replies = [status(409, "the object has been modified")] * 100
    with pytest.raises(ApiError, match="modified"):
        again_on_conflict(lambda: client.get("/x"))
    assert 1 < len(server.seen) < 50
    assert request.PATIENCE / 2 < clock.now <= request.PATIENCE


def test_a_conflict_is_tried_again_and_nothing_else(server: Server, client: Client) -> None:
    server.replies = [status(409), OK, status(403)]
    assert again_on_conflict(lambda: client.get("/x")) == {"fine": True}
    with pytest.raises(ApiError):
        again_on_conflict(lambda: client.get("/x"))
    assert len(server.seen) == 3


def test_a_watch_gives_events_until_it_ends(server: Server, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(request, "time", clock)
    events = [{"type": "ADDED", "object": {"n": 1}}, {"type": "DELETED", "object": {"n": 2}}]
    too_old = {"type": "ERROR", "object": {"kind": "Status", "code": 410}}
    lines = b"".join(json.dumps(event).encode() + b"\n" for event in (*events, too_old, *events))
    server.replies = [(200, {}, lines), status(410), None, status(403)]
    assert list(client.watch("/x", {"resourceVersion": "1"}, 5.5)) == events
    assert server.seen[0][1] == "/x?resourceVersion=1&watch=1&timeoutSeconds=5"
    for _watch in ("whose version is too old", "that breaks off"):
        assert list(client.watch("/x", {}, 1)) == []
    # Whoever starts anew whenever one ends does not do so all the time.
    assert clock.now == pytest.approx(1.5)
    with pytest.raises(ApiError):
        list(client.watch("/x", {}, 1))


WATCHED = {what: reply for what, reply in PASSING.items() if what != "two writers at once"}


@pytest.mark.parametrize("reply", WATCHED.values(), ids=WATCHED.keys())
def test_what_passes_ends_a_watch_and_not_the_wait(
    server: Server, client: Client, monkeypatch: pytest.MonkeyPatch, reply: Reply
) -> None:
    clock = Clock()
    monkeypatch.setattr(request, "time", clock)
    server.replies = [reply]
    assert list(client.watch("/x", {}, 5)) == []
    assert clock.now == pytest.approx(0.5)


def test_several_at_a_time_in_the_order_of_the_items(server: Server, client: Client) -> None:
    together = threading.Barrier(THREADS, timeout=60)

    def call(number: int) -> int:
        together.wait()
        client.get(f"/{number}")
        if number % 2:
            raise ClusterError(str(number))
        return number

    done = client.map(call, range(THREADS))
    assert [str(one) for one in done] == [str(number) for number in range(THREADS)]
    assert [isinstance(one, ClusterError) for one in done] == [bool(number % 2) for number in range(THREADS)]
    failing: Callable[[int], int] = call
    with pytest.raises(ClusterError, match=r"^1$"):
        client.all(failing, range(THREADS))
