# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Steps of a node's move when the API server fails in the middle of it, or an earlier run was killed.

The rest is in tests/cluster.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube import counters
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.extended_resources import Names
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.nodes.look import MoveStep, MovingNode, info
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.nodes.steps import back, done, off
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.nodes.use import ANNOTATION, Mark
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client
from ansible_collections.zerocopy.rdma.tests.unit._provision.api_server import Reply, Server, status

NODE = "/api/v1/nodes/n1"
STEP = MoveStep("n1", to="dra", timeout=0)


def node(mark: Mark | None = None, **meta: Any) -> dict[str, Any]:
    own = mark.metadata() if mark else {"annotations": {}}
    return {
        "metadata": {"name": "n1", "uid": "u", "resourceVersion": "1", **own, **meta},
        "spec": {"unschedulable": True},
        "status": {"capacity": {"rdma/a": "63"}, "allocatable": {"rdma/a": "0"}},
    }


@pytest.fixture
def cluster(server: Server) -> Server:
    server.paths = {
        "/apis": (200, {}, {"kind": "APIGroupDiscoveryList", "items": []}),
        "/api/v1/pods": (200, {}, {"metadata": {"resourceVersion": "1"}, "items": []}),
        "/api/v1/nodes": status(403, "nodes is forbidden"),
    }
    marked: Reply = (200, {}, node(Mark("dra")))
    server.decide = lambda method, _path, _body: (200, {}, {}) if method == "PATCH" else marked
    return server


def test_a_node_that_has_moved_is_not_put_back_for_what_a_plugin_left(cluster: Server, client: Client) -> None:
    found = done(client, STEP)
    assert (found["changed"], len(found["warnings"])) == (True, 1)
    assert found["warnings"][0].startswith("n1: the resources that a device plugin has left behind could not be")
    assert "nodes is forbidden" in found["warnings"][0]
    assert [path.partition("?")[0] for method, path, *_rest in cluster.seen if method == "PATCH"] == [NODE]


def test_a_node_that_cannot_be_uncordoned_has_not_moved(cluster: Server, client: Client) -> None:
    cluster.paths[NODE] = status(403, "nodes is forbidden")
    with pytest.raises(ClusterError, match="nodes is forbidden"):
        done(client, STEP)


def test_what_could_not_be_awaited_is_a_warning(cluster: Server, client: Client) -> None:
    listed = {"metadata": {"resourceVersion": "1"}, "items": [node()]}
    cluster.paths["/api/v1/nodes"] = (200, {}, listed)
    found = done(client, STEP)
    assert ["written again by the kubelet" in warning for warning in found["warnings"]] == [True]


def test_gpus_that_only_the_site_knows(cluster: Server, client: Client) -> None:
    """On the host's network, their pods use the node's NICs."""
    container = {"name": "main", "resources": {"limits": {"example.org/gpu": "1"}}}
    pod = {
        "metadata": {"name": "train-0", "namespace": "llm", "uid": "p"},
        "spec": {"nodeName": "n1", "hostNetwork": True, "containers": [container]},
    }
    cluster.paths["/api/v1/pods"] = (200, {}, {"metadata": {"resourceVersion": "1"}, "items": [pod]})
    cluster.paths["/api/v1/nodes"] = (200, {}, {"metadata": {"resourceVersion": "1"}, "items": [node()]})
    for own, users in ((["example.org/gpu"], ["train-0"]), ([], [])):
        seen = MovingNode(client, MoveStep("n1", gpu_resources=own)).look()
        assert [user.name for user in seen.use.users] == users
        found = info(client, [], [], Names(gpus=own))
        assert [user.name for user in found["n1"].users] == users


def test_a_node_with_an_annotation_of_somebody_else_is_on_its_own(cluster: Server, client: Client) -> None:
    """All others can be planned. No step is run on the node itself, which cannot be put back as it was."""
    theirs = node(annotations={ANNOTATION: "moved by hand"})
    other = node(Mark("dra"))
    other["metadata"]["name"] = "n2"
    cluster.paths["/api/v1/nodes"] = (200, {}, {"metadata": {"resourceVersion": "1"}, "items": [theirs, other]})
    found = info(client, [], [], Names())
    said = "n1: annotation zerocopy.rdma/move is 'moved by hand', it must be JSON"
    assert {name: [text.startswith(said) for text in one.broken] for name, one in found.items()} == {
        "n1": [True],
        "n2": [],
    }
    assert (found["n1"].mark, found["n2"].mark) == (None, Mark("dra"))
    cluster.decide = lambda *_request: (200, {}, theirs)
    for step in (off, done, back):
        with pytest.raises(ClusterError, match=said):
            step(client, STEP)
    assert "PATCH" not in [method for method, *_rest in cluster.seen]


@pytest.mark.parametrize(("mark", "kept"), [(None, "exclusive"), (Mark("inject", netns_mode="shared"), "shared")])
def test_what_a_node_was_is_what_it_was_before_the_first_run(
    mark: Mark | None, kept: str, cluster: Server, client: Client
) -> None:
    """The run that was killed may have changed its netns mode."""
    found: list[dict[str, Any]] = [node(mark)]
    found[0]["spec"], found[0]["status"] = {}, {}

    def answer(method: str, _path: str, sent: bytes) -> Reply:
        if method == "PATCH":
            body = json.loads(sent)
            found.append({**found[-1], **body, "metadata": {**found[-1]["metadata"], **body["metadata"]}})
        return 200, {}, found[-1]

    cluster.decide = answer
    assert off(client, MoveStep("n1", to="dra", netns_mode="exclusive", timeout=0))["changed"] is True
    assert json.loads(found[-1]["metadata"]["annotations"][ANNOTATION])["netns_mode"] == kept


@pytest.mark.parametrize("begun", [False, True])
def test_a_resource_that_only_counts_pods_keeps_no_node_in_its_strategy(
    begun: bool, cluster: Server, client: Client
) -> None:
    """No device plugin offers it, so nobody but the move itself takes it away."""
    resource, label = "rdma.io/hca", "zerocopy.rdma.node-restriction.kubernetes.io/inject"
    found = node(Mark("inject", labels={label: None}) if begun else None)
    found["metadata"]["annotations"][counters.ANNOTATION] = json.dumps({resource: 100})
    found["metadata"].setdefault("labels", {})[label] = "h100"
    found["status"] = {name: {resource: "100"} for name in ("capacity", "allocatable")}

    def merged(old: Any, new: Any) -> Any:
        both = {**old, **{name: merged(old.get(name) or {}, one) for name, one in new.items() if isinstance(one, dict)}}
        both.update({name: one for name, one in new.items() if not isinstance(one, dict)})
        return {name: one for name, one in both.items() if one is not None}

    def answer(method: str, path: str, sent: bytes) -> Reply:
        if method == "PATCH":
            found.update(merged(found, json.loads(sent)))
        return 200, {}, {"items": [found]} if path.partition("?")[0] == "/api/v1/nodes" else found

    del cluster.paths["/api/v1/nodes"]
    cluster.decide = answer
    step = MoveStep("n1", to="dra", labels={label: None}, ours=[label], timeout=0)
    assert (back if begun else off)(client, step)["changed"] is True
    assert label not in found["metadata"]["labels"]
    assert found["status"] == {"capacity": {}, "allocatable": {}}


def test_a_pod_whose_namespace_is_being_deleted_is_waited_for(cluster: Server, client: Client) -> None:
    """Its eviction is refused, which was taken for the end of the move."""
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "a", "controller": True}
    resources = {"limits": {"rdma/a": "1"}}
    pod = {
        "metadata": {"name": "a-1", "namespace": "old", "uid": "p", "ownerReferences": [owner]},
        "spec": {"nodeName": "n1", "containers": [{"name": "c", "resources": resources}]},
    }
    cluster.paths["/api/v1/pods"] = (200, {}, {"metadata": {"resourceVersion": "1"}, "items": [pod]})
    said = "pods is forbidden: unable to create new content in namespace old because it is being terminated"
    causes = [{"reason": "NamespaceTerminating", "message": "namespace old is being terminated", "field": "x"}]
    refused = {"kind": "Status", "message": said, "reason": "Forbidden", "details": {"causes": causes}}
    cluster.paths["/api/v1/namespaces/old/pods/a-1/eviction"] = (403, {}, refused)
    with pytest.raises(ClusterError, match=r"old/a-1 .*: its namespace is being deleted \(waited 0 s\)"):
        off(client, STEP)
