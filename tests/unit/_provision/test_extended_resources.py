# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Leftover resources of nodes whose kubelet writes at the same moment. The rest is in tests/cluster."""

from __future__ import annotations

import json
import re
from typing import Any, Dict, Iterator, List, Optional

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.counters import ANNOTATION
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision import counters, extended_resources
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client
from ansible_collections.zerocopy.rdma.tests.unit._provision.api_server import Reply, Server

HOSTDEV, LABEL = "nvidia.com/hostdev", "example.org/plugin"


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
    return extended_resources.remove(client, **{"wanted": {"n1": [HOSTDEV]}, "timeout": 0, "check": False, **options})


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


@pytest.mark.parametrize("check", [True, False])
def test_what_a_node_that_is_down_advertises_holds_nothing_up(cluster: Server, client: Client, check: bool) -> None:
    lost, well = node("1", "2"), node("1", "0")
    lost["status"]["conditions"] = [{"type": "Ready", "status": "Unknown"}]
    well["metadata"]["name"], well["status"]["capacity"][HOSTDEV] = "n2", "0"
    cluster.paths["/api/v1/nodes"] = (200, {}, {"metadata": {"resourceVersion": "1"}, "items": [lost, well]})
    cluster.replies = [(200, {}, well)]

    done = remove(client, timeout=600, check=check, wanted={"n1": [HOSTDEV], "n2": [HOSTDEV]})
    assert done["nodes"] == {"n2": [HOSTDEV]}
    assert f"{HOSTDEV} is left on n1, where no kubelet answers: run this again when it does" in done["warnings"]


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


@pytest.mark.parametrize("seen", [["2"], ["0", "2"]])
def test_where_the_plugin_has_gone_what_is_advertised_is_no_leftover(seen: List[str]) -> None:
    """Whoever waits for a kubelet to let go does not take it for a plugin on its way out, whenever it comes."""
    client: Any = Watched(*seen)
    done = extended_resources.remove(client, {"n1": [HOSTDEV]}, timeout=600, check=False, gone=True)
    assert done == {"changed": False, "nodes": {}, "warnings": [], "diff": []}


def test_where_the_plugin_has_gone_one_that_comes_back_at_last_is_left(cluster: Server, client: Client) -> None:
    cluster.replies = [(200, {}, node("2", "2"))]
    kept = f"{HOSTDEV} on n1 is written again by the kubelet"
    done = remove(client, gone=True)
    assert (done["changed"], [text.startswith(kept) for text in done["warnings"]]) == (False, [True])


def test_where_the_plugin_has_gone_pods_keep_their_resource(cluster: Server, client: Client) -> None:
    wanted = several(cluster, [holder("n1", HOSTDEV)], {}, n1="0")
    done = extended_resources.remove(client, wanted, timeout=0, check=False, gone=True)
    said = f"pods hold {HOSTDEV} on n1 (d/p): delete these pods first"
    assert (done["changed"], done["warnings"], written(cluster)) == (False, [said], [])


def test_a_quantity_that_nobody_understands_counts_as_advertised(cluster: Server, client: Client) -> None:
    cluster.paths["/api/v1/nodes"] = (200, {}, {"items": [node("1", "many")]})

    with pytest.raises(ClusterError, match="still advertised on n1"):
        remove(client)


def holder(node_name: str, *resources: str, name: str = "p") -> Dict[str, Any]:
    """A pod that holds one of each of these resources."""
    limits = {"resources": {"limits": dict.fromkeys(resources, "1")}}
    return {"metadata": {"namespace": "d", "name": name}, "spec": {"nodeName": node_name, "containers": [limits]}}


def several(
    cluster: Server, pods: List[Dict[str, Any]], meta: Optional[Dict[str, Any]] = None, **nodes: str
) -> Dict[str, List[str]]:
    """Nodes with this number of devices that can be had, the first with more metadata; what is to go there."""
    items: Dict[str, Dict[str, Any]] = {}
    for name, allocatable in nodes.items():
        own = node("1", allocatable)
        items[name] = {**own, "metadata": {**own["metadata"], "name": name, **({} if items else meta or {})}}
    cluster.paths["/api/v1/nodes"] = (200, {}, {"items": list(items.values())})
    cluster.paths["/api/v1/pods"] = (200, {}, {"items": pods})
    cluster.decide = lambda _method, path, _body: (200, {}, items[path.split("/")[4]])
    return {name: [HOSTDEV] for name in nodes}


def written(cluster: Server) -> List[str]:
    """The nodes that were written to."""
    return sorted(path.split("/")[4] for method, path, *_rest in cluster.seen if method == "PATCH")


def test_what_is_used_is_left_with_a_warning(cluster: Server, client: Client) -> None:
    """n1 has a plugin, n2 a pod that holds a device, and n3 neither."""
    wanted = several(cluster, [holder("n2", HOSTDEV)], n1="2", n2="0", n3="0")
    advertised = f"{HOSTDEV} is still advertised on n1: remove its device plugin first"
    held = f"pods hold {HOSTDEV} on n2 (d/p): delete these pods first"

    with pytest.raises(ClusterError) as refused:
        extended_resources.remove(client, wanted, timeout=0, check=False)
    assert str(refused.value) == f"{advertised}; {held}"

    done = extended_resources.remove(client, wanted, timeout=0, check=False, keep_used=True)
    again = f"{HOSTDEV} on n3 is written again by the kubelet until its device plugin has been gone for five minutes"
    assert (done["nodes"], done["warnings"]) == (
        {"n3": [HOSTDEV]},
        [advertised, held, f"{again}: run this again then"],
    )
    assert written(cluster) == ["n3"]


def test_check_mode_says_whether_pods_are_in_the_way(cluster: Server, client: Client) -> None:
    """It is asked before a plugin goes, which then does not advertise anything any more."""
    wanted = several(cluster, [holder("n2", HOSTDEV)], n1="2", n2="2", n3="0")

    with pytest.raises(ClusterError) as refused:
        extended_resources.remove(client, wanted, timeout=0, check=True)
    assert str(refused.value) == f"pods hold {HOSTDEV} on n2 (d/p): delete these pods first"
    checked = extended_resources.remove(client, wanted, timeout=0, check=True, keep_used=True)
    assert (checked["nodes"], checked["warnings"]) == ({"n1": [HOSTDEV], "n3": [HOSTDEV]}, [str(refused.value)])
    cluster.paths["/api/v1/pods"] = (200, {}, {"items": []})
    checked = extended_resources.remove(client, wanted, timeout=0, check=True)
    assert (set(checked["nodes"]), checked["warnings"]) == (set(wanted), [])
    assert written(cluster) == []


def test_many_pods_are_not_all_named(cluster: Server, client: Client) -> None:
    pods = [holder("n1", HOSTDEV, name=f"p{number:02}") for number in range(12)]
    wanted = several(cluster, [*pods, holder("n2", HOSTDEV, name="q")], n1="2", n2="2")

    with pytest.raises(ClusterError, match=r" on n\[1-2\] \(d/p00, .*, d/p09 and 3 more\): delete these pods first$"):
        extended_resources.remove(client, wanted, timeout=0, check=True)


@pytest.mark.parametrize("check", [False, True])
def test_what_other_plugins_offer_is_left_alone(cluster: Server, client: Client, check: bool) -> None:
    """The plugin that is to go is on n1 only. On n2 another one offers the same, and n3 and n4 have leftovers."""
    pods = [holder("n2", HOSTDEV, name="theirs"), holder("n3", HOSTDEV, name="theirs-too")]
    wanted = several(cluster, pods, {"labels": {LABEL: ""}}, n1="0", n2="2", n3="0", n4="0")

    done = extended_resources.remove(client, wanted, timeout=0, check=check, label=LABEL)
    assert done["nodes"] == {"n1": [HOSTDEV], "n4": [HOSTDEV]}
    assert done["warnings"][0] == f"pods hold {HOSTDEV} on n3 (d/theirs-too): delete these pods first"
    assert not [text for text in done["warnings"] if "still advertised" in text]
    assert written(cluster) == ([] if check else ["n1", "n4"])


@pytest.mark.parametrize("check", [False, True])
def test_the_pods_of_the_plugin_itself_are_in_the_way(cluster: Server, client: Client, check: bool) -> None:
    pods = [holder("n1", HOSTDEV), holder("n2", HOSTDEV, name="theirs")]
    wanted = several(cluster, pods, {"labels": {LABEL: "v100"}}, n1="0", n2="2")

    with pytest.raises(ClusterError) as refused:
        extended_resources.remove(client, wanted, timeout=0, check=check, label=LABEL)
    assert str(refused.value) == f"pods hold {HOSTDEV} on n1 (d/p): delete these pods first"
    assert written(cluster) == []


def test_a_plugin_of_others_is_not_awaited() -> None:
    client: Any = Watched("2")
    done = extended_resources.remove(client, {"n1": [HOSTDEV]}, timeout=600, check=False, label=LABEL)
    assert (done["changed"], done["warnings"]) == (False, [])


@pytest.mark.parametrize("check", [False, True])
def test_a_counter_that_a_pod_has_stays(cluster: Server, client: Client, check: bool) -> None:
    ours = {"annotations": {ANNOTATION: json.dumps({HOSTDEV: 2})}}
    wanted = several(cluster, [holder("n1", HOSTDEV)], ours, n1="2")
    none: Dict[str, Dict[str, int]] = {name: {} for name in wanted}

    said = f"pods hold {HOSTDEV} on n1 (d/p): delete these pods first"
    with pytest.raises(ClusterError, match=re.escape(said)):
        counters.keep(client, none, check)
    done = counters.keep(client, none, check, keep_used=True)
    assert (done["nodes"], done["warnings"], written(cluster)) == ({}, [said], [])


def test_each_node_loses_its_own(cluster: Server, client: Client) -> None:
    done = extended_resources.remove(client, {"n1": ["rdma/other"], "n2": [HOSTDEV]}, timeout=0, check=False)
    assert done == {"changed": False, "nodes": {}, "warnings": [], "diff": []}
    assert not [method for method, *_rest in cluster.seen if method == "PATCH"]


class Name(str):
    """A name of a resource; comparisons with others are counted."""

    compared = 0

    def __eq__(self, other: object) -> bool:
        Name.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


@pytest.mark.parametrize("allocatable", ["0", "1"])
def test_ten_thousand_names_take_as_long_as_they_are_many(
    cluster: Server, client: Client, allocatable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As whoever may write the status of a node can put there."""
    names = [Name(f"rdma/hca-{number}") for number in range(10000)]
    status = {"capacity": dict.fromkeys(names, "1"), "allocatable": dict.fromkeys(names, allocatable)}
    cluster.paths["/api/v1/nodes"] = (200, {}, {"items": [{**node("1", "0"), "status": status}]})
    # Somebody has them again when they are to be written.
    monkeypatch.setattr(extended_resources, "_write", lambda _client, entries: list(entries))
    Name.compared = 0
    done = extended_resources.remove(client, {"n1": names}, timeout=0, check=False, keep_used=True)
    # Some for each of them, and not one with each other one.
    assert 10000 < Name.compared < 300000
    assert (done["changed"], len(done["warnings"])) == (False, 20000 if allocatable == "0" else 10000)
