# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What device plugins left in the status of nodes. There is no kubelet, so the status stays as the tests set it."""

from __future__ import annotations

import json
import threading
from typing import Any, Callable, Dict, Iterator, Tuple

import pytest

from ansible_collections.zerocopy.rdma.plugins.modules import node_extended_resources
from ansible_collections.zerocopy.rdma.tests.cluster import accounts
from ansible_collections.zerocopy.rdma.tests.cluster.claims_cluster import node
from ansible_collections.zerocopy.rdma.tests.cluster.cluster_set import ClusterSet, Object

HOSTDEV, SHARED = "nvidia.com/hostdev", "rdma/rdma_v100"
NODES = ("left-1", "left-2", "left-3")


class Nodes:
    """Nodes with extended resources, and the module that removes them."""

    def __init__(self, cluster_set: ClusterSet, run: Callable[..., Object], kubeconfig: str) -> None:
        self.kubectl = cluster_set.kubectl
        self._run, self._kubeconfig = run, kubeconfig

    def have(self, name: str, resource: str, capacity: int, allocatable: int) -> None:
        status = {"capacity": {resource: str(capacity)}, "allocatable": {resource: str(allocatable)}}
        self.kubectl("patch", "node", name, "--subresource=status", "-p", json.dumps({"status": status}))

    def status(self) -> Dict[str, Object]:
        items = json.loads(self.kubectl("get", "nodes", *NODES, "-o", "json"))["items"]
        return {
            item["metadata"]["name"]: {key: item["status"][key] for key in ("capacity", "allocatable")}
            for item in items
        }

    def remove(self, *resources: str, **options: Any) -> Object:
        nodes = {name: list(resources) for name in (*NODES, "no-such-node")}
        options = {"nodes": nodes, "wait_timeout": 0, **options}
        return self._run(node_extended_resources, kubeconfig=self._kubeconfig, **options)


@pytest.fixture(name="nodes")
def make_nodes_with_leftovers(
    cluster_set: ClusterSet, run_module: Callable[..., Object], control_plane: Any
) -> Iterator[Nodes]:
    nodes = Nodes(cluster_set, run_module, str(control_plane.kubeconfig))
    for name in NODES:
        nodes.kubectl("create", "-f", "-", stdin=node(name))
    yield nodes
    nodes.kubectl("delete", "node", *NODES)


def test_both_lists_lose_it_and_nothing_else(nodes: Nodes) -> None:
    before = nodes.status()
    for name, capacity in (("left-1", 2), ("left-2", 4)):
        nodes.have(name, HOSTDEV, capacity, 0)
    nodes.have("left-2", SHARED, 63, 63)
    kept = nodes.status()

    planned = nodes.remove(HOSTDEV, _ansible_check_mode=True)
    assert nodes.status() == kept
    done = nodes.remove(HOSTDEV)

    assert planned["nodes"] == done["nodes"] == {"left-1": [HOSTDEV], "left-2": [HOSTDEV]}
    assert planned["diff"] == done["diff"]
    assert done["diff"][0]["before"].splitlines()[:2] == [
        f"left-1 capacity {HOSTDEV}: 2",
        f"left-1 allocatable {HOSTDEV}: 0",
    ]
    del kept["left-2"]["capacity"][HOSTDEV], kept["left-2"]["allocatable"][HOSTDEV]
    assert nodes.status() == {**before, "left-2": kept["left-2"]}
    assert nodes.remove(HOSTDEV)["changed"] is False


def test_where_a_plugin_has_devices_nothing_is_removed_anywhere(nodes: Nodes) -> None:
    nodes.have("left-1", HOSTDEV, 2, 0)
    nodes.have("left-2", HOSTDEV, 2, 2)
    before = nodes.status()

    said = f"{HOSTDEV} is still advertised on left-2: remove its device plugin first"
    assert nodes.remove(HOSTDEV)["msg"] == said
    # Which may be about to go.
    predicted = nodes.remove(HOSTDEV, _ansible_check_mode=True)
    assert predicted["nodes"] == {"left-1": [HOSTDEV], "left-2": [HOSTDEV]}
    assert "warnings" not in predicted
    assert nodes.status() == before


def test_what_is_used_can_be_left(nodes: Nodes) -> None:
    nodes.have("left-1", HOSTDEV, 2, 0)
    nodes.have("left-2", HOSTDEV, 2, 2)

    done = nodes.remove(HOSTDEV, keep_used=True)

    assert done["nodes"] == {"left-1": [HOSTDEV]}
    assert nodes.status()["left-2"]["allocatable"][HOSTDEV] == "2"


def test_waits_for_a_plugin_on_its_way_out(nodes: Nodes) -> None:
    """And for the kubelet, which writes the capacity again until it has set it to 0."""
    nodes.have("left-1", HOSTDEV, 2, 2)

    def leave() -> None:
        nodes.have("left-1", HOSTDEV, 2, 0)
        nodes.have("left-1", HOSTDEV, 0, 0)

    leaving = threading.Timer(1.0, leave)
    leaving.start()

    done = nodes.remove(HOSTDEV, wait_timeout=60, _ansible_diff=True)

    leaving.join()
    assert done["nodes"] == {"left-1": [HOSTDEV]}
    assert f"left-1 capacity {HOSTDEV}: 0" in done["diff"][0]["before"]
    assert HOSTDEV not in nodes.status()["left-1"]["capacity"]


def test_what_the_kubelet_will_write_again_is_told(nodes: Nodes) -> None:
    nodes.have("left-1", HOSTDEV, 2, 0)

    said = f"{HOSTDEV} on left-1 is written again by the kubelet until its device plugin has been gone for five minutes"
    assert said in str(nodes.remove(HOSTDEV)["warnings"])


def test_what_a_pod_holds_stays(nodes: Nodes, namespace: str) -> None:
    nodes.have("left-1", HOSTDEV, 2, 0)
    limits = {"limits": {HOSTDEV: "1"}}
    spec = {"nodeName": "left-1", "containers": [{"name": "c", "image": "none", "resources": limits}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "holder", "namespace": namespace}, "spec": spec}
    nodes.kubectl("create", "-f", "-", stdin=pod)
    before = nodes.status()

    said = [nodes.remove(HOSTDEV, **own)["msg"] for own in ({}, {"_ansible_check_mode": True})]
    # The plugin that is to go is on no node.
    elsewhere = nodes.remove(HOSTDEV, label="example.org/plugin")
    nodes.kubectl("delete", "pod", "-n", namespace, "holder", "--force", "--grace-period=0")

    assert said == [f"pods hold {HOSTDEV} on left-1 ({namespace}/holder): delete these pods first"] * 2
    assert not elsewhere["changed"]
    assert said[0] in str(elsewhere["warnings"])
    assert before == nodes.status()


def test_what_other_plugins_offer_is_left_alone(nodes: Nodes) -> None:
    nodes.have("left-1", HOSTDEV, 0, 0)
    nodes.have("left-2", HOSTDEV, 2, 2)
    nodes.kubectl("label", "node", "left-1", "example.org/plugin=")

    done = nodes.remove(HOSTDEV, label="example.org/plugin", wait_timeout=60)

    assert (done["nodes"], done.get("warnings")) == ({"left-1": [HOSTDEV]}, None)
    assert nodes.status()["left-2"]["allocatable"][HOSTDEV] == "2"


def test_a_node_chooses_nothing_that_is_removed(nodes: Nodes, cluster_set: ClusterSet) -> None:
    """Its kubelet's account may write the status of its own Node: any names, and thousands of them.

    left-1 is a node of the plugin, the others are not. All three have leftovers of the plan.
    """
    plugin = "example.org/plugin"
    nodes.kubectl("label", "node", "left-1", f"{plugin}=")
    accounts_of = {name: accounts.node(cluster_set, name) for name in NODES}
    many = {f"rdma/hca-{number}": "1" for number in range(4000)}
    status = {
        "left-1": {"capacity": {**many, HOSTDEV: "0", "example.org/gpu": "8"}, "allocatable": {HOSTDEV: "0"}},
        # As if something offered them there.
        "left-2": {"capacity": {**many, HOSTDEV: "2"}, "allocatable": {**many, HOSTDEV: "2"}},
        "left-3": {"capacity": {HOSTDEV: "0"}, "allocatable": {HOSTDEV: "0"}},
    }

    def written(name: str) -> Tuple[Tuple[str, ...], Object]:
        """As a kubelet does it, which may not read the status alone first."""
        item = json.loads(nodes.kubectl("get", "node", name, "-o", "json"))
        for part, resources in status[name].items():
            item["status"].setdefault(part, {}).update(resources)
        return ("replace", f"--raw=/api/v1/nodes/{name}/status", "-f", "-"), item

    for name, account in accounts_of.items():
        arguments, item = written(name)
        account(*arguments, stdin=item)
    arguments, item = written("left-2")
    refused = accounts_of["left-1"].refused(*arguments, stdin=item)
    assert 'node "left-1" is not allowed to modify node "left-2"' in refused
    before = nodes.status()

    done = nodes.remove(HOSTDEV, label=plugin)

    assert (done["nodes"], done.get("warnings")) == ({"left-1": [HOSTDEV], "left-3": [HOSTDEV]}, None)
    for name in ("left-1", "left-3"):
        del before[name]["capacity"][HOSTDEV], before[name]["allocatable"][HOSTDEV]
    assert nodes.status() == before
    assert len(before["left-1"]["capacity"]) > len(many)


@pytest.mark.parametrize("name", ["cpu", "hugepages-2Mi", "kubernetes.io/batch-cpu", "rdma/", "/hca", "rdma/hca\n"])
def test_only_extended_resources_can_be_removed(nodes: Nodes, name: str) -> None:
    before = nodes.status()

    assert nodes.remove(HOSTDEV, name)["msg"].startswith(f"nodes: {name!r} of left-1 cannot be removed, it must be")
    assert nodes.status() == before
