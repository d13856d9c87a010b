# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Groups of one fleet with different strategies on a real API server, and a group that changes its strategy."""

from __future__ import annotations

import json
from typing import Any, Dict, List, Set

from ansible_collections.zerocopy.rdma.tests.cluster.cluster_set import ClusterSet, Object, actions, patched
from ansible_collections.zerocopy.rdma.tests.cluster.provision import DIFF, Playbook, make_set_of_inventory

# A fixture that is defined elsewhere.
__all__ = ["make_set_of_inventory"]

LABEL = "zerocopy.rdma.node-restriction.kubernetes.io/shared-device"
# The group that the tests are about, and a node of another one.
FLEET = ("v100-01", "v100-02", "h100-01")
LEFT = "Remove resources that were left behind (shared_device)"
APPLIED, RESOURCE = "Apply the objects (shared_device)", "rdma/rdma_v100"


def group(strategy: str) -> Dict[str, Any]:
    return {"v100": {"rdma_strategy": strategy, "rdma_claims_templates": []}}


def there(cluster_set: ClusterSet) -> Set[str]:
    listed = cluster_set.kubectl("get", "daemonsets,configmaps,secrets", "-n", "kube-system", "-o", "name").split()
    return {name for name in listed if any(part in name for part in ("rdma-shared", "dranet", "zerocopy-rdma"))}


def labels(cluster_set: ClusterSet) -> Dict[str, str]:
    items = json.loads(cluster_set.kubectl("get", "nodes", "-o", "json"))["items"]
    return {item["metadata"]["name"]: item["metadata"]["labels"].get(LABEL, "") for item in items}


def offer(cluster_set: ClusterSet, node: str, number: str, allocatable: str = "") -> None:
    """What a kubelet would write."""
    status = {"capacity": {RESOURCE: number}, "allocatable": {RESOURCE: allocatable or number}}
    patch = json.dumps({"status": status})
    cluster_set.kubectl("patch", "node", node, "--subresource=status", "--type=merge", "-p", patch)


def left(cluster_set: ClusterSet) -> Dict[str, Any]:
    """The resource in the status of nodes."""
    items = json.loads(cluster_set.kubectl("get", "nodes", "-o", "json"))["items"]
    found = {item["metadata"]["name"]: item["status"]["capacity"].get(RESOURCE) for item in items}
    return {name: value for name, value in found.items() if value is not None}


def verdicts(report: Object, kind: str) -> List[Any]:
    found = [check for check in report["checks"] if check["id"] == kind]
    return sorted((check["host"] or "", check["subject"], check["verdict"]) for check in found)


def test_a_group_shares_its_devices_and_leaves(cluster_set: ClusterSet, playbook: Playbook) -> None:
    playbook = playbook.of(*FLEET)
    own: Dict[str, Any] = {"rdma_claims_namespaces": [cluster_set.namespace]}
    before = there(cluster_set)
    predicted = playbook("--check", "--diff", groups=group("shared_device"), **own)
    # Validated by the API server, strictly, and kept by nobody.
    assert there(cluster_set) == before
    done = playbook("--diff", groups=group("shared_device"), **own)
    assert done[APPLIED]["objects"] == predicted[APPLIED]["objects"]
    assert done[DIFF] == predicted[DIFF]
    assert {name for name in there(cluster_set) if "secret" not in name} == {
        "configmap/rdma-shared-v100",
        "daemonset.apps/rdma-shared-v100",
        "daemonset.apps/dranet-h100",
    }
    assert {name for name, value in labels(cluster_set).items() if value == "v100"} == {"v100-01", "v100-02"}
    again = playbook(groups=group("shared_device"), **own)
    assert not again[APPLIED]["changed"]
    assert not again["Label the nodes (shared_device)"]["changed"]

    said = playbook.refused(groups=group("dra"), **own)
    assert "v100-[01-02]: rdma_strategy is 'dra', but shared_device still serves this node" in said
    assert there(cluster_set) >= {"daemonset.apps/rdma-shared-v100"}

    gone = playbook(groups=group("none"), **own)
    assert set(actions(gone[APPLIED]).values()) == {"pruned"}
    assert there(cluster_set) == {
        "daemonset.apps/dranet-h100",
        "secret/zerocopy-rdma-claims",
        "secret/zerocopy-rdma-driver",
    }
    assert set(labels(cluster_set).values()) == {""}
    assert APPLIED not in playbook(groups=group("none"), **own)
    # Then nothing is in the way of another one.
    playbook(groups=group("dra"), **own)
    assert "daemonset.apps/dranet-v100" in there(cluster_set)


def test_a_node_that_cannot_be_reached_keeps_its_configuration(cluster_set: ClusterSet, playbook: Playbook) -> None:
    own: Dict[str, Any] = {
        "rdma_claims_namespaces": [],
        "rdma_group": "gpu",
        "groups": {name: {"rdma_strategy": "shared_device", "rdma_claims_templates": []} for name in ("a100", "v100")},
    }
    playbook.of("a100-01")(**own)
    both = playbook.of("a100-01", "v100-01")

    def config(name: str) -> str:
        listed = ("get", "configmap", f"rdma-shared-{name}", "-n", "kube-system", "-o", "jsonpath={.data}")
        return cluster_set.kubectl(*listed)

    first = config("gpu")
    predicted = both.without("a100-01").partly("--check", "--diff", **own)[1]
    assert labels(cluster_set)["v100-01"] == ""
    said, done = both.without("a100-01").partly("--diff", **own)
    assert said == {"a100-01": ""}
    assert done[DIFF] == predicted[DIFF]
    found = labels(cluster_set)
    assert found["a100-01"] == "gpu"
    assert found["v100-01"].startswith("gpu-")
    assert config("gpu") == first
    assert config(found["v100-01"]) != first
    again = both.without("a100-01").partly(**own)[1]
    assert not again[APPLIED]["changed"]
    assert not again["Label the nodes (shared_device)"]["changed"]
    # Verify expects what provision does.
    _said, report = both.without("a100-01").verified("--tags=cluster", **own)
    assert [subject for _host, subject, _verdict in verdicts(report, "cluster.plugin")] == [
        f"kube-system/rdma-shared-{found['v100-01']}"
    ]

    both(**own)
    assert {labels(cluster_set)[name] for name in ("a100-01", "v100-01")} == {"gpu"}
    assert config("gpu") != first
    assert f"daemonset.apps/rdma-shared-{found['v100-01']}" not in there(cluster_set)


def test_a_plugin_is_updated_before_a_node_joins_it(cluster_set: ClusterSet, playbook: Playbook) -> None:
    shares = {**group("shared_device")["v100"], "rdma_group": "gpu"}
    leaves = group("none")["v100"]
    own: Dict[str, Any] = {"rdma_claims_namespaces": []}
    playbook.of("a100-01", "v100-01")(groups={"a100": shares, "v100": shares}, **own)
    assert {name: labels(cluster_set)[name] for name in ("a100-01", "v100-01")} == {"a100-01": "gpu", "v100-01": "gpu"}

    whole = playbook.of("a100-01", "v100-01", "v100-02")
    joined: Dict[str, Any] = {"groups": {"a100": leaves, "v100": shares}, **own}
    with cluster_set.requests() as asked:
        whole(**joined)
    told = ("a100-01", "rdma-shared-gpu", "v100-02")
    # The ConfigMap and the DaemonSet have one name.
    assert [name for name in patched(asked) if name in told][:4] == [told[0], told[1], told[1], told[2]]
    assert {name for name, value in labels(cluster_set).items() if value == "gpu"} == {"v100-01", "v100-02"}
    again = whole(**joined)
    assert not again[APPLIED]["changed"]
    assert "Update the objects before nodes join (shared_device)" not in again


def test_the_strategies_of_the_example_inventory(cluster_set: ClusterSet, playbook: Playbook) -> None:
    own: Dict[str, Any] = {"rdma_claims_namespaces": [cluster_set.namespace], "rdma_wait": False}
    playbook.example(**own)
    assert {name for name in there(cluster_set) if "daemonset" in name} == {
        "daemonset.apps/rdma-shared-v100",
        *(f"daemonset.apps/dranet-{name}" for name in ("h100", "lab")),
    }
    networks = cluster_set.kubectl("get", "network-attachment-definitions", "-n", "default", "-o", "name").split()
    assert [name.partition("/")[2] for name in networks] == ["rdma-a100"]
    again = playbook.example(**own)
    assert not [task for task, result in again.items() if result.get("changed")]


def test_verify_looks_at_plugins_and_resources(cluster_set: ClusterSet, playbook: Playbook) -> None:
    playbook = playbook.of(*FLEET)
    own: Dict[str, Any] = {"rdma_claims_namespaces": [cluster_set.namespace]}
    playbook(groups=group("shared_device"), **own)
    offer(cluster_set, "v100-01", "63")
    # Of the plugin of another group.
    offer(cluster_set, "h100-01", "63")
    _said, report = playbook.verified("--tags=cluster", groups=group("shared_device"), **own)
    assert verdicts(report, "cluster.resources") == [
        ("h100-01", RESOURCE, "fail"),
        ("v100-01", RESOURCE, "pass"),
        ("v100-02", RESOURCE, "fail"),
    ]
    # No kubelet starts its pods.
    assert verdicts(report, "cluster.plugin") == [("", "kube-system/rdma-shared-v100", "fail")]
    assert ("", "zerocopy-rdma-shared-device", "pass") in verdicts(report, "cluster.objects")
    assert {host for host, _subject, _verdict in verdicts(report, "cluster.driver")} == {"h100-01"}


def test_what_a_plugin_leaves_behind_goes_with_it(cluster_set: ClusterSet, playbook: Playbook) -> None:
    playbook = playbook.of(*FLEET)
    own: Dict[str, Any] = {"rdma_claims_namespaces": [cluster_set.namespace]}
    playbook(groups=group("shared_device"), **own)
    offer(cluster_set, "v100-01", "63")
    # A node that was in the group once.
    offer(cluster_set, "h100-01", "63", "0")
    playbook(groups=group("shared_device"), **own)
    assert left(cluster_set) == {"v100-01": "63"}
    # The kubelet, five minutes after the plugin has gone.
    offer(cluster_set, "v100-01", "0")
    predicted = playbook("--check", "--diff", groups=group("none"), **own)
    assert left(cluster_set) == {"v100-01": "0"}
    done = playbook("--diff", groups=group("none"), **own)
    assert done[LEFT]["nodes"] == predicted[LEFT]["nodes"] == {"v100-01": [RESOURCE]}
    assert done[DIFF] == predicted[DIFF]
    assert left(cluster_set) == {}
    assert LEFT not in playbook(groups=group("none"), **own)


def holder(namespace: str, name: str, node: str) -> Object:
    """A pod that has devices of the plugin on its node."""
    container = {"name": "main", "image": "example.org/none:v1", "resources": {"limits": {RESOURCE: "1"}}}
    meta = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"nodeName": node, "containers": [container]}}


def test_a_plugin_does_not_go_as_long_as_pods_have_its_devices(cluster_set: ClusterSet, playbook: Playbook) -> None:
    playbook, namespace = playbook.of(*FLEET), cluster_set.namespace
    own: Dict[str, Any] = {"rdma_claims_namespaces": [namespace]}
    playbook(groups=group("shared_device"), **own)
    offer(cluster_set, "v100-01", "63")
    # Another plugin, with the same name for its resource.
    offer(cluster_set, "h100-01", "63")
    for name, node in (("ours", "v100-01"), ("theirs", "h100-01")):
        cluster_set.kubectl("create", "-f", "-", stdin=holder(namespace, name, node))
    before, labelled = there(cluster_set), labels(cluster_set)

    teardown: Dict[str, Any] = {"name": "teardown.yml", "groups": group("shared_device"), **own}
    said = [
        playbook.refused("--tags=driver", **teardown),
        playbook.refused("--tags=driver", "--check", **teardown),
        playbook.refused(groups=group("none"), **own),
        playbook.refused("--check", groups=group("none"), **own),
    ]
    assert set(said) == {f"pods hold {RESOURCE} on v100-01 ({namespace}/ours): delete these pods first"}
    assert (there(cluster_set), labels(cluster_set)) == (before, labelled)

    cluster_set.kubectl("delete", "pod", "ours", "-n", namespace, "--force")
    # The kubelet, five minutes after the plugin has gone.
    offer(cluster_set, "v100-01", "0")
    # Without a kubelet the plugin's pods never end, for which teardown would wait.
    playbook(groups=group("none"), **own)
    assert "daemonset.apps/rdma-shared-v100" not in there(cluster_set)
    assert set(labels(cluster_set).values()) == {""}
    assert left(cluster_set) == {"h100-01": "63"}


def test_a_plugin_stays_on_a_node_that_has_left_its_group(cluster_set: ClusterSet, playbook: Playbook) -> None:
    """Whether the group has another name now or has left the inventory with the node."""
    playbook, namespace = playbook.of(*FLEET), cluster_set.namespace
    own: Dict[str, Any] = {"rdma_claims_namespaces": [namespace]}
    groups = {**group("shared_device"), "h100": group("shared_device")["v100"]}
    playbook(groups=groups, **own)
    offer(cluster_set, "v100-01", "63")
    cluster_set.kubectl("create", "-f", "-", stdin=holder(namespace, "ours", "v100-01"))
    before, labelled = there(cluster_set), labels(cluster_set)

    renamed = {**groups, "v100": {**groups["v100"], "rdma_group": "v100b"}}
    alone = {"h100": groups["h100"]}
    rest = playbook.of("h100-01")
    said = [
        playbook.refused(groups=renamed, **own),
        rest.refused(groups=alone, **own),
        rest.refused("--tags=driver", name="teardown.yml", groups=alone, **own),
    ]
    assert set(said) == {f"pods hold {RESOURCE} on v100-01 ({namespace}/ours): delete these pods first"}
    assert (there(cluster_set), labels(cluster_set)) == (before, labelled)

    cluster_set.kubectl("delete", "pod", "ours", "-n", namespace, "--force")
    playbook(groups=renamed, **own)
    assert {name for name in there(cluster_set) if "daemonset" in name} == {
        "daemonset.apps/rdma-shared-v100b",
        "daemonset.apps/rdma-shared-h100",
    }


def test_without_a_group_of_a_strategy_nothing_of_it_is_there(cluster_set: ClusterSet, playbook: Playbook) -> None:
    groups = {name: group("none")["v100"] for name in ("a100", "h100", "lab")} | group("shared_device")
    playbook(groups=groups)
    assert there(cluster_set) == {
        "configmap/rdma-shared-v100",
        "daemonset.apps/rdma-shared-v100",
        "secret/zerocopy-rdma-shared-device",
    }
    playbook(groups={name: group("none")["v100"] for name in groups})
    assert there(cluster_set) == set()
