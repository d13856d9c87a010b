# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Leftover resources of nodes whose kubelet writes at the same moment. The rest is in tests/cluster."""

from __future__ import annotations

import json
from typing import Any, Dict, Iterator, List

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision import extended_resources
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils.api_server import Reply, Server

HOSTDEV = "nvidia.com/hostdev"


def node(version: str, allocatable: str) -> Dict[str, Any]:
    meta = {"name": "n1", "uid": "u", "resourceVersion": version}
    return {"metadata": meta, "status": {"capacity": {HOSTDEV: "2"}, "allocatable": {HOSTDEV: allocatable}}}


@pytest.fixture
def cluster(server: Server) -> Server:
    server.paths = {
        "/api/v1/nodes": (200, {}, {"metadata": {"resourceVersion": "1"}, "items": [node("1", "0")]}),
        "/api/v1/pods": (200, {}, {"items": []}),
    }
    return server


def remove(client: Client, **options: Any) -> Dict[str, Any]:
    return extended_resources.remove(client, {"n1": [HOSTDEV]}, **{"timeout": 0, "check": False, **options})


def test_after_a_conflict_the_node_is_read_again(cluster: Server, client: Client) -> None:
    conflict: Reply = (409, {}, {"message": "the object has been modified", "reason": "Conflict"})
    cluster.replies = [(200, {}, node("1", "0")), conflict, (200, {}, node("2", "0"))]

    assert remove(client)["nodes"] == {"n1": [HOSTDEV]}
    written = [json.loads(body) for method, _path, _headers, body in cluster.seen if method == "PATCH"]
    assert [entry["metadata"]["resourceVersion"] for entry in written] == ["1", "2"]
    assert written[1]["status"] == {"capacity": {HOSTDEV: None}, "allocatable": {HOSTDEV: None}}


def test_a_plugin_that_comes_back_keeps_its_resource(cluster: Server, client: Client) -> None:
    cluster.replies = [(200, {}, node("2", "2"))]

    with pytest.raises(ClusterError, match=f"{HOSTDEV} of n1 is advertised again"):
        remove(client)
    assert not [method for method, *_rest in cluster.seen if method == "PATCH"]


def test_a_plugin_that_comes_back_is_left_with_a_warning(cluster: Server, client: Client) -> None:
    cluster.replies = [(200, {}, node("2", "2"))]

    done = remove(client, keep_used=True)
    assert (done["changed"], done["nodes"], done["diff"]) == (False, {}, [])
    assert done["warnings"][-1] == f"{HOSTDEV} of n1 is advertised again: its device plugin has come back"
    assert not [method for method, *_rest in cluster.seen if method == "PATCH"]


class Watched:
    """The API server's nodes as they are at each look at them; with the last one, a watch would last for ever."""

    def __init__(self, *allocatable: str) -> None:
        self._looks = [node(str(number), text) for number, text in enumerate(allocatable)]

    def get(self, path: str, _query: Any = None) -> Dict[str, Any]:
        if path == "/api/v1/pods":
            return {"items": []}
        return {"metadata": {"resourceVersion": "1"}, "items": [self._looks.pop(0)]}

    @staticmethod
    def all(_call: Any, items: List[Any]) -> List[Any]:
        assert not items, "nothing is to be written"
        return items

    def watch(self, _path: str, _query: Any, _left: float) -> Iterator[Dict[str, Any]]:
        assert self._looks, "nobody will come"
        yield {"object": self._looks[0]}


@pytest.mark.parametrize(
    "seen",
    [pytest.param(["2", "0", "2"], id="on its way out, and back"), pytest.param(["0", "2"], id="on its way back")],
)
def test_a_plugin_that_comes_back_is_not_awaited(seen: List[str]) -> None:
    client: Any = Watched(*seen)
    done = extended_resources.remove(client, {"n1": [HOSTDEV]}, timeout=600, check=False, keep_used=True)
    assert (done["nodes"], done["warnings"]) == (
        {},
        [f"{HOSTDEV} is still advertised on n1: remove its device plugin first"],
    )


def test_a_quantity_that_nobody_understands_counts_as_advertised(cluster: Server, client: Client) -> None:
    cluster.paths["/api/v1/nodes"] = (200, {}, {"items": [node("1", "many")]})

    with pytest.raises(ClusterError, match="still advertised on n1"):
        remove(client)


def test_what_is_used_is_left_with_a_warning(cluster: Server, client: Client) -> None:
    """n1 has a plugin, n2 a pod that holds a device, and n3 neither."""
    nodes = []
    for name, allocatable in (("n1", "2"), ("n2", "0"), ("n3", "0")):
        own = node("1", allocatable)
        nodes.append({**own, "metadata": {**own["metadata"], "name": name}})
    limits = {"resources": {"limits": {HOSTDEV: "1"}}}
    holder = {"metadata": {"namespace": "d", "name": "p"}, "spec": {"nodeName": "n2", "containers": [limits]}}
    cluster.paths["/api/v1/nodes"] = (200, {}, {"items": nodes})
    cluster.paths["/api/v1/pods"] = (200, {}, {"items": [holder]})
    wanted = {name: [HOSTDEV] for name in ("n1", "n2", "n3")}
    expected = [
        f"{HOSTDEV} is still advertised on n1: remove its device plugin first",
        f"pods that hold {HOSTDEV} have to end first: d/p",
    ]

    with pytest.raises(ClusterError) as refused:
        extended_resources.remove(client, wanted, timeout=0, check=False)
    assert str(refused.value) == "; ".join(expected)

    cluster.replies = [(200, {}, nodes[2])]
    done = extended_resources.remove(client, wanted, timeout=0, check=False, keep_used=True)
    again = f"{HOSTDEV} on n3 is written again by the kubelet until its device plugin has been gone for five minutes"
    assert (done["nodes"], done["warnings"]) == ({"n3": [HOSTDEV]}, [*expected, f"{again}: run this again then"])
    assert [path for method, path, *_rest in cluster.seen if method == "PATCH"] == ["/api/v1/nodes/n3/status"]
    # In check mode the plugin may be about to go.
    checked = extended_resources.remove(client, wanted, timeout=0, check=True, keep_used=True)
    assert (set(checked["nodes"]), checked["warnings"]) == (set(wanted), expected)


def test_each_node_loses_its_own(cluster: Server, client: Client) -> None:
    done = extended_resources.remove(client, {"n1": ["rdma/other"], "n2": [HOSTDEV]}, timeout=0, check=False)
    assert done == {"changed": False, "nodes": {}, "warnings": [], "diff": []}
    assert not [method for method, *_rest in cluster.seen if method == "PATCH"]
